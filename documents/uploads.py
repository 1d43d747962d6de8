"""Receiving a file: to a temporary file, hashed, counted and bounded while it is read."""

import hashlib
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from ninja.errors import HttpError

from documents.conf import conf

# What a multipart body holds beside the file: boundaries, headers, the other fields.
_ENVELOPE_BYTES = 2**20


class ReceivedFile(TemporaryUploadedFile):
    """An uploaded file in a temporary file, with the SHA-256 of its content in hexadecimal digits."""

    sha256: str


class DocumentUploadHandler(TemporaryFileUploadHandler):
    """Django's handler for temporary files, which also hashes, and breaks off beyond ``DMS_MAX_UPLOAD_BYTES``.

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
        if content_length > conf.max_upload_bytes + _ENVELOPE_BYTES:
            raise _too_large()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        FileUploadHandler.new_file(self, *args, **kwargs)  # the parent's would open a file of another class
        self.file = ReceivedFile(self.file_name or "", self.content_type, 0, self.charset, self.content_type_extra)
        self._digest = hashlib.sha256()
        self._size = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._size += len(raw_data)
        if self._size > conf.max_upload_bytes:
            self.upload_interrupted()  # removes the temporary file, which Django does only for errors of its own
            raise _too_large()
        self._digest.update(raw_data)
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        self.file.sha256 = self._digest.hexdigest()
        self.file.seek(0)
        self.file.size = file_size
        return self.file


def _too_large() -> HttpError:
    return HttpError(413, f"The file is larger than the {conf.max_upload_bytes} bytes allowed.")
