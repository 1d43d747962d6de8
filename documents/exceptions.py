"""What the app raises. Catch ``DocumentsError`` for any of it."""

from enum import StrEnum
from uuid import UUID

from django.core.exceptions import RequestDataTooBig


class DocumentsError(Exception):
    """Root of the app's errors. Not raised itself."""


class DocumentNotFound(DocumentsError):
    """The active tenant has no such document, or it lies in the trash."""


class NotAllowed(DocumentsError):
    """The user's role doesn't suffice. Nothing was changed."""


class NoteNotFound(DocumentsError):
    """The document has no such note."""


class SearchNotFound(DocumentsError):
    """The user has no such saved search."""


class LabelNotFound(DocumentsError):
    """No document has this tag, or this correspondent."""


class InvalidValue(DocumentsError):
    """A title, tag, name or note that can't be kept, or a step that can't be done; the message says why.

    Nothing was changed.

    ``code``: the same in a word, for those who say it in another language.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class WrongPassword(InvalidValue):
    """The password doesn't open the document."""

    def __init__(self, message: str) -> None:
        super().__init__("wrong_password", message)


class NotLocked(InvalidValue):
    """The document doesn't wait for a password, or can't be opened with one."""

    def __init__(self, message: str) -> None:
        super().__init__("not_locked", message)


class ArchiveNotFound(DocumentsError):
    """The document has no archive version."""


class UploadRefused(DocumentsError):
    """The file is not taken in. Nothing was stored."""


class EmptyFile(UploadRefused):
    """The file has no content."""


class TypeRefused(UploadRefused):
    """Files of this type are not taken in."""


class TypeNotAccepted(TypeRefused):
    """The tenant takes in other types."""


class FileTooLarge(UploadRefused, RequestDataTooBig):
    """The file has more bytes than one may have here. Where nobody catches it, Django answers as to any such body."""


class TenantFull(UploadRefused):
    """The tenant's documents have as many bytes as it may have."""


class DuplicateRefused(UploadRefused):
    """The tenant has these bytes already, and wants to be told so; ``document_id`` is the document that has them."""

    def __init__(self, document_id: UUID, title: str) -> None:
        super().__init__(f"These bytes are a document already: {title} ({document_id}).")
        self.document_id = document_id


class UploadNotFound(DocumentsError):
    """The user has no such upload: it was never begun, is another user's, or has expired."""


class OffsetConflict(DocumentsError):
    """Bytes came for another place than where the upload goes on. Nothing of them was kept; ask where it does."""


class OtherProtocol(DocumentsError):
    """The client speaks another version of the protocol for resumable uploads."""


class TooManyUploads(UploadRefused):
    """The user has begun as many uploads as one may have unfinished."""


class StorageError(DocumentsError):
    """Root of what the object store raises."""


class OutageReason(StrEnum):
    """Why the object store can't do its work, in a word that /readyz may show to anybody."""

    UNREACHABLE = "unreachable"  # no connection
    NO_ANSWER = "no_answer"  # in the time that it is given
    FAILING = "failing"  # it answers with an error of its own
    REFUSED = "refused"  # the key, or the rights on the folder
    NO_BUCKET = "no_bucket"
    CLOCK = "clock"  # this host's and the store's differ too much for a signature to count
    NOT_MOUNTED = "not_mounted"  # the folder is gone, or isn't the one that was prepared
    READ_ONLY = "read_only"
    FULL = "full"


class StorageUnavailable(StorageError):
    """The object store can't do its work now: an outage, no space, a timeout. It may pass, so try again later."""

    def __init__(self, message: str, reason: OutageReason = OutageReason.FAILING) -> None:
        super().__init__(message)
        self.reason = reason


class StorageMisconfigured(StorageUnavailable):
    """The object store refuses us: wrong credentials, no such bucket. It passes when somebody mends the settings."""


class StorageFull(StorageUnavailable):
    """There is no room left. Reading still works."""

    def __init__(self, message: str) -> None:
        super().__init__(message, OutageReason.FULL)


class ObjectMissing(StorageError):
    """There is no object under this key."""


class ObjectExists(StorageError):
    """Another object has this key. Objects are never overwritten."""


class ObjectDamaged(StorageError):
    """What the store returned is not what was put in, by size or SHA-256; ``detail`` says how it differs."""

    def __init__(self, key: str, detail: str) -> None:
        super().__init__(f"{key} is not what was stored: {detail}.")
        self.detail = detail
