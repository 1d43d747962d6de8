"""What the app raises. Catch ``DocumentsError`` for any of it."""


class DocumentsError(Exception):
    """Root of the app's errors. Not raised itself."""


class DocumentNotFound(DocumentsError):
    """The active tenant has no such document, or it lies in the trash."""


class UploadRefused(DocumentsError):
    """The file is not taken in. Nothing was stored."""


class EmptyFile(UploadRefused):
    """The file has no content."""


class TypeRefused(UploadRefused):
    """Files of this type are not taken in."""


class StorageError(DocumentsError):
    """Root of what the object store raises."""


class StorageUnavailable(StorageError):
    """The object store can't do its work now: an outage, no space, a timeout. It may pass, so try again later."""


class StorageMisconfigured(StorageUnavailable):
    """The object store refuses us: wrong credentials, no such bucket. It passes when somebody mends the settings."""


class ObjectMissing(StorageError):
    """There is no object under this key."""


class ObjectExists(StorageError):
    """Another object has this key. Objects are never overwritten."""


class ObjectDamaged(StorageError):
    """What the store returned is not what was put in, by size or SHA-256."""
