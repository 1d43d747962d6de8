"""The object store in an S3 bucket."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, cast

import botocore.exceptions
from botocore.awsrequest import AWSConnection
from s3transfer.utils import ReadFileChunk
from storages.backends.s3 import S3Storage

from documents.exceptions import (
    ObjectExists,
    ObjectMissing,
    OutageReason,
    StorageError,
    StorageFull,
    StorageMisconfigured,
    StorageUnavailable,
)
from documents.storage._base import ObjectStore, StoredObject, Unfinished
from documents.storage._reader import ObjectReader

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef

# A file of more than this goes in parts, of which S3 takes 10,000.
PART_BYTES = 16 * 2**20
_MISCONFIGURED = {
    "NoSuchBucket": (OutageReason.NO_BUCKET, "Make the bucket, or correct DMS_S3_BUCKET."),
    "RequestTimeTooSkewed": (OutageReason.CLOCK, "Set the clock of this host, or the server's."),
} | dict.fromkeys(
    [
        "AccessDenied",
        "AuthorizationHeaderMalformed",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "PermanentRedirect",
        "SignatureDoesNotMatch",
        "401",
        "403",
    ],
    (OutageReason.REFUSED, "Check key, bucket and region, and what the key may do."),
)


def _skip_headers(connection: AWSConnection, answer: IO[bytes]) -> None:
    """Read what follows "100 Continue", up to an empty line. Botocore reads for ever if the server is gone."""
    while (line := answer.readline()) != b"\r\n":
        if not line:
            raise ConnectionResetError("the server closed the connection after 100 Continue")


AWSConnection._consume_headers = _skip_headers  # type: ignore[method-assign,attr-defined,unused-ignore]  # no other way in
_NO_ANSWER = (botocore.exceptions.ConnectTimeoutError, botocore.exceptions.ReadTimeoutError)


class S3Store(ObjectStore):
    """A bucket."""

    def __init__(self, storage: S3Storage) -> None:
        self._storage = storage
        self._bucket = storage.bucket_name

    def _size(self, key: str) -> int:
        return self._head(key)["ContentLength"]

    def _delete(self, key: str) -> None:
        with _s3_errors(key):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def _list_objects(self, prefix: str) -> Iterator[list[StoredObject]]:
        with _s3_errors(prefix):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                contents = page.get("Contents", [])
                yield [StoredObject(found["Key"], found["Size"], found["LastModified"]) for found in contents]

    def _list_unfinished(self, prefix: str) -> Iterator[list[Unfinished]]:
        with _s3_errors(prefix):
            for page in self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self._bucket, Prefix=prefix
            ):
                uploads = page.get("Uploads", [])
                yield [Unfinished(upload["Key"], upload["UploadId"], upload["Initiated"]) for upload in uploads]

    def _list_tenants(self) -> Iterator[list[str]]:
        with _s3_errors("the bucket"):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Delimiter="/"):
                yield [found["Prefix"].removesuffix("/") for found in page.get("CommonPrefixes", [])]

    def _abandon(self, unfinished: Unfinished) -> None:
        with suppress(ObjectMissing), _s3_errors(unfinished.key):
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=unfinished.key, UploadId=unfinished.handle)

    def _check(self) -> None:
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
        return self._head(key)["Metadata"].get("sha256", "")

    def _head(self, key: str) -> "HeadObjectOutputTypeDef":
        try:
            with _s3_errors(key):
                return self._client.head_object(Bucket=self._bucket, Key=key)
        except (ObjectMissing, StorageMisconfigured):
            self._check()  # the answer to HEAD has no body, and so tells no missing bucket from a missing object
            raise

    def _open(self, key: str, start: int, length: int | None) -> ObjectReader:
        end = "" if length is None else start + length - 1
        wanted = {} if start == 0 and length is None else {"Range": f"bytes={start}-{end}"}
        with _s3_errors(key):
            answer = self._client.get_object(Bucket=self._bucket, Key=key, **wanted)  # type: ignore[arg-type]  # mixed
        body = answer["Body"]

        def read(at_most: int) -> bytes:
            with _s3_errors(key):
                return body.read(at_most)

        return ObjectReader(key, answer["ContentLength"], read, body.close)

    @cached_property
    def _client(self) -> "S3Client":
        client: S3Client = self._storage.connection.meta.client
        return client


@contextmanager
def _s3_errors(key: str) -> Iterator[None]:
    try:
        yield
    except botocore.exceptions.ClientError as error:
        raise _meaning(error, key) from error
    except (botocore.exceptions.NoCredentialsError, botocore.exceptions.PartialCredentialsError) as error:
        raise StorageMisconfigured(str(error), OutageReason.REFUSED) from error
    except _NO_ANSWER as error:
        raise StorageUnavailable(f"S3: {error}", OutageReason.NO_ANSWER) from error
    except (botocore.exceptions.ConnectionError, botocore.exceptions.HTTPClientError) as error:
        raise StorageUnavailable(f"S3: {error}", OutageReason.UNREACHABLE) from error
    except botocore.exceptions.BotoCoreError as error:
        raise StorageUnavailable(f"S3: {error}") from error


def _meaning(error: botocore.exceptions.ClientError, key: str) -> StorageError:
    """Return what an answer of S3 that isn't the hoped-for means to us."""
    code = error.response["Error"]["Code"]
    if code in {"NoSuchKey", "NoSuchUpload", "404"}:
        return ObjectMissing(f"There is no object under {key}.")
    if code in {"PreconditionFailed", "412"}:
        return ObjectExists(f"There is an object under {key}.")
    if code in _MISCONFIGURED:
        reason, advice = _MISCONFIGURED[code]
        return StorageMisconfigured(f"S3 refuses us: {code}. {advice}", reason)
    if error.response["ResponseMetadata"]["HTTPStatusCode"] == 507:
        return StorageFull(f"S3 has no room: {code}.")
    return StorageUnavailable(f"S3 answers {code}.")
