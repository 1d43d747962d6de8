"""Receiving a file: to a temporary file, hashed, counted and bounded while it is read."""

import hashlib
import tempfile
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

from documents import intake
from documents.conf import conf
from documents.exceptions import FileTooLarge
from documents.temporary_files import writing

# Nothing else takes files: what forms bring elsewhere is read and forgotten.
_TAKES_FILES = "/api/"
# What a multipart body holds beside the file: boundaries, headers, the other fields.
_ENVELOPE_BYTES = 2**20


class ReceivedFile(UploadedFile):  # type: ignore[type-arg]  # it takes a parameter in the stubs only
    """An uploaded file in a temporary file, with the SHA-256 of its content in hexadecimal digits.

    The temporary file has no name, unlike Django's: a process that is killed leaves none behind.
    """

    sha256: str

    def __init__(self, name: str, content_type: str | None) -> None:
        file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115 - Django closes it
        super().__init__(file, name, content_type, 0)


class DocumentUploadHandler(FileUploadHandler):
    """Streams to a temporary file, hashes, and breaks off beyond what a file may have here.

    A declared size is believed if it is too large, before anything is read; if none or a wrong one is declared, what
    arrives is counted.
    """

    chunk_size = 256 * 1024
    file: ReceivedFile

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803 - the name is Django's
        content_length: int,
        boundary: Any,
        encoding: Any = None,
    ) -> None:
        self._limit = intake.max_file_bytes() if self._is_wanted() else conf.max_upload_bytes
        if content_length > self._limit + _ENVELOPE_BYTES:
            raise _too_large(self._limit)

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if not self._is_wanted():
            raise SkipFile
        with writing():
            self.file = ReceivedFile(self.file_name or "", self.content_type)
        self._digest = hashlib.sha256()
        self._size = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._size += len(raw_data)
        if self._size > self._limit:
            self.upload_interrupted()  # which Django calls only for errors of its own
            raise _too_large(self._limit)
        self._digest.update(raw_data)
        with writing():
            self.file.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        self.file.sha256 = self._digest.hexdigest()
        with writing():
            self.file.seek(0)  # writes out what is buffered
        self.file.size = file_size
        return self.file

    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def _is_wanted(self) -> bool:
        return self.request is not None and self.request.path.startswith(_TAKES_FILES)


def _too_large(limit: int) -> FileTooLarge:
    return FileTooLarge(f"The file is larger than the {limit} bytes allowed.")
