"""The object store in an S3 bucket."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, cast

import botocore.exceptions
from s3transfer.utils import ReadFileChunk
from storages.backends.s3 import S3Storage

from documents.exceptions import ObjectExists, ObjectMissing, StorageMisconfigured, StorageUnavailable
from documents.storage._base import ObjectReader, ObjectStore

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# A file of more than this goes in parts, of which S3 takes 10,000.
PART_BYTES = 16 * 2**20
_REFUSALS = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket", "401", "403"}


class S3Store(ObjectStore):
    """A bucket."""

    def __init__(self, storage: S3Storage) -> None:
        self._storage = storage
        self._bucket = storage.bucket_name

    def size(self, key: str) -> int:
        with _s3_errors(key):
            return self._client.head_object(Bucket=self._bucket, Key=key)["ContentLength"]

    def delete(self, key: str) -> None:
        with _s3_errors(key):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def list_keys(self, prefix: str = "") -> Iterator[str]:
        with _s3_errors(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                for found in page.get("Contents", []):
                    yield found["Key"]

    def check(self) -> None:
        with _s3_errors("the bucket"):
            # Listing, since the answer to a refused HEAD has no body and so no reason in it.
            self._client.list_objects_v2(Bucket=self._bucket, MaxKeys=1)

    def _put_if_absent(self, key: str, file: IO[bytes], sha256: str) -> bool:
        # Whatever serves the bucket to a browser some day serves a file to save, not a page to show.
        about = {
            "ContentType": "application/octet-stream",
            "ContentDisposition": "attachment",
            "Metadata": {"sha256": sha256},
        }
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        try:
            with _s3_errors(key):
                if size <= PART_BYTES:
                    target = {"Bucket": self._bucket, "Key": key, "IfNoneMatch": "*"}
                    self._client.put_object(**target, **about, Body=file)  # type: ignore[arg-type]  # mixed dict
                else:
                    self._put_in_parts(key, file, size, about)
        except ObjectExists:
            return False
        return True

    def _put_in_parts(self, key: str, file: IO[bytes], size: int, about: dict[str, Any]) -> None:
        target = {"Bucket": self._bucket, "Key": key}
        upload_id = self._client.create_multipart_upload(**target, **about)["UploadId"]
        try:
            parts: list[Any] = []
            for number, start in enumerate(range(0, size, PART_BYTES), start=1):
                file.seek(start)
                part = cast(IO[bytes], ReadFileChunk(file, PART_BYTES, size))  # its window of the file, unread
                answer = self._client.upload_part(**target, UploadId=upload_id, PartNumber=number, Body=part)
                parts.append({"PartNumber": number, "ETag": answer["ETag"]})
            self._client.complete_multipart_upload(
                **target, UploadId=upload_id, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
            )
        except BaseException:
            with suppress(botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                self._client.abort_multipart_upload(**target, UploadId=upload_id)
            raise

    def _sha256(self, key: str) -> str:
        with _s3_errors(key):
            return self._client.head_object(Bucket=self._bucket, Key=key)["Metadata"].get("sha256", "")

    def _open(self, key: str, start: int, length: int | None) -> ObjectReader:
        end = "" if length is None else start + length - 1
        wanted = {} if start == 0 and length is None else {"Range": f"bytes={start}-{end}"}
        with _s3_errors(key):
            answer = self._client.get_object(Bucket=self._bucket, Key=key, **wanted)  # type: ignore[arg-type]  # mixed
        body = answer["Body"]

        def read(at_most: int) -> bytes:
            with _s3_errors(key):
                return body.read(at_most)

        return ObjectReader(answer["ContentLength"], read, body.close)

    @cached_property
    def _client(self) -> "S3Client":
        client: S3Client = self._storage.connection.meta.client
        return client


@contextmanager
def _s3_errors(key: str) -> Iterator[None]:
    try:
        yield
    except botocore.exceptions.ClientError as error:
        code = error.response["Error"]["Code"]
        if code in {"NoSuchKey", "404"}:
            raise ObjectMissing(f"There is no object under {key}.") from error
        if code in {"PreconditionFailed", "412"}:
            raise ObjectExists(f"There is an object under {key}.") from error
        if code in _REFUSALS:
            raise StorageMisconfigured(f"S3 refuses us: {code}. Check bucket and credentials.") from error
        raise StorageUnavailable(f"S3 answers {code}.") from error
    except (botocore.exceptions.NoCredentialsError, botocore.exceptions.PartialCredentialsError) as error:
        raise StorageMisconfigured(str(error)) from error
    except botocore.exceptions.BotoCoreError as error:
        raise StorageUnavailable(f"S3: {error}") from error
