"""Uploads that may be interrupted: what has arrived stays, in pieces, until the file is whole. ADR 0013.

Any web process can take any piece: rows and the object store are all there is. Nothing is locked while bytes arrive. Of
two who send for the same place, the second is told that the upload goes on elsewhere.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from typing import IO, Protocol
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from dms_project.tenancy import current
from documents import intake, labels, objects
from documents.conf import conf
from documents.exceptions import (
    DuplicateRefused,
    EmptyFile,
    FileTooLarge,
    ObjectDamaged,
    ObjectMissing,
    OffsetConflict,
    TooManyUploads,
    TypeRefused,
    UploadNotFound,
)
from documents.ingest import Ingested, Upload, ingest
from documents.models import TITLE_MAX_LENGTH, ResumableUpload, UploadPiece
from documents.names import display_name
from documents.processing.cleaning import clean_line
from documents.storage import key_of, object_store
from documents.temporary_files import writing

#: What arrives is kept at least after so many bytes.
PIECE_BYTES = 8 * 2**20
#: How many a user may have begun and not finished.
MOST_UNFINISHED = 100
_CHUNK_BYTES = 256 * 1024
_KIND = "piece"


class Body(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return some of the next bytes; none at the end. ``OSError``: no more will come."""


def begin(user: User, size_bytes: int, file_name: str, title: str = "", tags: Sequence[str] = ()) -> ResumableUpload:
    """Make an upload to which nothing has been sent yet.

    Raises:
        EmptyFile, FileTooLarge, TenantFull, TooManyUploads, InvalidValue: Nothing was made.
    """
    if not size_bytes:
        raise EmptyFile("The file is empty.")
    if size_bytes > (limit := intake.max_file_bytes()):
        raise FileTooLarge(f"The file is larger than the {limit} bytes allowed.")
    with transaction.atomic():
        intake.hold_room(intake.rules(), size_bytes)
        User.objects.select_for_update().get(pk=user.pk)  # two at a time are counted one after the other
        unfinished = ResumableUpload.objects.filter(user=user, document_id=None, expires_at__gt=Now())
        if unfinished.count() >= MOST_UNFINISHED:
            raise TooManyUploads(f"You have {MOST_UNFINISHED} uploads that are not finished: finish or remove some.")
        upload = ResumableUpload.objects.create(
            user=user,
            file_name=display_name(file_name),
            title=clean_line(title, TITLE_MAX_LENGTH),
            tags=list(labels.clean_names(tags)),
            size_bytes=size_bytes,
            expires_at=_later(),
        )
    return find(upload.pk, user)


def find(upload_id: UUID, user: User) -> ResumableUpload:
    """Return an upload of this user, or raise ``UploadNotFound``."""
    found = ResumableUpload.objects.filter(pk=upload_id, user=user, expires_at__gt=Now()).first()
    if found is None:
        raise UploadNotFound("You have no such upload; it may have expired.")
    return found


def receive(upload: ResumableUpload, offset: int, body: Body, length: int) -> ResumableUpload:
    """Take in what comes for the place ``offset``; with its last byte the file becomes a document.

    If the body ends early, what has come is kept.

    Args:
        upload: As it was found.
        length: How many bytes the body says it has.

    Returns:
        The upload as it is now.

    Raises:
        OffsetConflict: The upload goes on elsewhere. Of this body nothing was kept, or what came before somebody else.
        FileTooLarge: That is more than the upload is to have; nothing was kept.
        Whatever ``ingest`` raises: The last piece wasn't kept. What is refused for good is gone altogether.
        StorageUnavailable: The latest piece wasn't kept.
    """
    if offset != upload.received_bytes:
        raise OffsetConflict(f"The upload goes on at {upload.received_bytes}, not at {offset}.")
    if offset + length > upload.size_bytes:
        raise FileTooLarge(f"The upload was to have {upload.size_bytes} bytes; these would be more.")
    while length:
        with _temporary_file() as piece:
            wanted = min(PIECE_BYTES, length)
            came = _copy(body, piece, wanted)
            if came and upload.received_bytes + came == upload.size_bytes:
                _finish(upload, piece)
            elif came:
                _keep(upload, piece, came)
        if came < wanted:
            break
        length -= came
    return find(upload.pk, upload.user)


def give_up(upload: ResumableUpload) -> None:
    """Remove an upload and what has arrived of it; a document that it has become stays."""
    keys = list(upload.pieces.values_list("storage_key", flat=True))
    upload.delete()
    for key in keys:
        objects.discard(key)


def _give_up_unless_whole(upload: ResumableUpload) -> None:
    """Remove an upload that can't become a document; if another request has just made it one, raise that it has."""
    keys = list(upload.pieces.values_list("storage_key", flat=True))
    removed, _ = ResumableUpload.objects.filter(pk=upload.pk, document_id=None).delete()
    if not removed:
        raise OffsetConflict("Somebody else has sent the rest, or removed the upload: ask where it goes on.")
    for key in keys:
        objects.discard(key)


def remove_expired() -> None:
    """Forget the active tenant's uploads that have expired; their pieces are orphans then."""
    ResumableUpload.objects.filter(expires_at__lte=Now()).delete()


def _later() -> CombinedExpression:
    return Now() + conf.orphan_grace


def _temporary_file() -> IO[bytes]:
    """Return a file without a name, of which a process that is killed leaves nothing."""
    with writing():
        return tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)


def _copy(body: Body, target: IO[bytes], wanted: int) -> int:
    came = 0
    while came < wanted:
        try:
            chunk = body.read(min(_CHUNK_BYTES, wanted - came))
        except OSError:
            break  # the connection is gone
        if not chunk:
            break
        with writing():
            target.write(chunk)
        came += len(chunk)
    with writing():
        target.seek(0)  # writes out what is buffered
    return came


def _keep(upload: ResumableUpload, piece: IO[bytes], size: int) -> None:
    sha256 = _sha256(piece)
    start = upload.received_bytes
    key = key_of(current(), upload.pk, start // PIECE_BYTES + 1, f"{_KIND}-{uuid4().hex}")
    object_store().put(key, piece, sha256)
    try:
        with transaction.atomic(durable=True):
            objects.hold(key, size)
            _advance(upload, size)
            UploadPiece.objects.create(upload=upload, start_byte=start, size_bytes=size, sha256=sha256, storage_key=key)
    except (OffsetConflict, IntegrityError):
        objects.discard(key)
        raise
    upload.received_bytes += size


def _sha256(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stubs want more than it needs


def _advance(upload: ResumableUpload, size: int, **more: object) -> None:
    place = ResumableUpload.objects.filter(pk=upload.pk, received_bytes=upload.received_bytes, document_id=None)
    if not place.update(received_bytes=F("received_bytes") + size, expires_at=_later(), **more):
        raise OffsetConflict("Somebody else has sent these bytes, or removed the upload: ask where it goes on.")


def _finish(upload: ResumableUpload, last: IO[bytes]) -> None:
    """Make a document of all pieces and the last one, which isn't stored by itself."""
    pieces = list(upload.pieces.order_by("start_byte"))
    rest = upload.size_bytes - upload.received_bytes

    def settle(ingested: Ingested) -> None:
        _advance(
            upload, rest, document_id=ingested.document.pk, duplicate=ingested.duplicate, restored=ingested.restored
        )
        upload.pieces.all().delete()

    with _temporary_file() as whole:
        try:
            with writing():
                for piece in pieces:
                    object_store().fetch(piece.storage_key, whole, size_bytes=piece.size_bytes, sha256=piece.sha256)
                shutil.copyfileobj(last, whole, _CHUNK_BYTES)
                whole.seek(0)
        except (ObjectMissing, ObjectDamaged) as error:
            _give_up_unless_whole(upload)
            raise UploadNotFound("A part of the upload was lost in the storage: begin it anew.") from error
        sha256 = _sha256(whole)
        arrived = Upload(whole, upload.file_name, sha256, upload.size_bytes)
        try:
            ingest(arrived, upload.title, upload.user, upload.tags, then=settle)
        except (TypeRefused, DuplicateRefused):
            _give_up_unless_whole(upload)
            raise
    for piece in pieces:
        objects.discard(piece.storage_key)
