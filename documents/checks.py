"""What must be right before the app starts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.files.storage import FileSystemStorage, InvalidStorageError, storages

from documents.conf import conf
from documents.storage import ALIAS

UPLOAD_HANDLER = "documents.uploads.DocumentUploadHandler"


@register("documents")
def check_storage(**kwargs: Any) -> list[CheckMessage]:
    """Check that the store of documents is one that is known to keep its promises."""
    try:
        storage = storages[ALIAS]
    except InvalidStorageError as error:
        hint = f"Give STORAGES[{ALIAS!r}] a BACKEND and its OPTIONS."
        return [Error(f"There is no store for documents: {error}", hint=hint, id="documents.E001")]
    kind = f"{type(storage).__module__}.{type(storage).__qualname__}"
    if isinstance(storage, FileSystemStorage) or kind == "storages.backends.s3.S3Storage":
        return []
    hint = "Use django.core.files.storage.FileSystemStorage or storages.backends.s3.S3Storage."
    return [Error(f"STORAGES[{ALIAS!r}] is a {kind}.", hint=hint, id="documents.E002")]


@register("documents")
def check_upload_handler(**kwargs: Any) -> list[CheckMessage]:
    """Check that uploads are hashed, counted and bounded on their way in."""
    if settings.FILE_UPLOAD_HANDLERS == [UPLOAD_HANDLER]:
        return []
    message = "Uploads would not be hashed and bounded while they are read."
    hint = f"Set FILE_UPLOAD_HANDLERS = [{UPLOAD_HANDLER!r}]."
    return [Error(message, hint=hint, id="documents.E003")]


@register("documents")
def check_limits(**kwargs: Any) -> list[CheckMessage]:
    """Check that every limit leaves room for something."""
    limits = conf.processing_limits
    given = {
        "DMS_MAX_UPLOAD_BYTES": conf.max_upload_bytes,
        "DMS_PROCESSING_TIMEOUT": limits.seconds,
        "DMS_PROCESSING_MEMORY_BYTES": limits.memory_bytes,
        "DMS_MAX_PAGES": limits.pages,
        "DMS_MAX_TEXT_CHARACTERS": limits.characters,
        "DMS_MAX_INFLATED_BYTES": limits.inflated_bytes,
        "DMS_MAX_PIXELS": limits.pixels,
        "DMS_OCR_TIMEOUT": conf.ocr_seconds,
        "DMS_STORAGE_TIMEOUT": conf.storage_timeout,
        "DMS_STORAGE_MIN_RATE": conf.storage_min_rate,
    }
    return [
        Error(f"{name} is {value}.", hint="Give a number greater than zero.", id="documents.E004")
        for name, value in given.items()
        if value <= 0
    ]
