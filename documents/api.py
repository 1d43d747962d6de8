"""The HTTP API: ``router`` for documents, ``labels_router`` for tags and the like,
``searches_router`` for what users save, ``jobs_router`` for their jobs.

A tenant's users see all of its documents. Another tenant's are in another schema, so their ids are unknown here.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from ninja import File, Form, Query, Router, Status, UploadedFile
from ninja.errors import HttpError

from documents import (
    editing,
    exceptions,
    labels,
    lifecycle,
    listing,
    relabelling,
    roles,
    searches,
    thumbnails,
    unlocking,
)
from documents.archive import MAX_DOCUMENTS as MAX_ARCHIVED
from documents.archive import archive_of
from documents.bulk import Done, for_each
from documents.downloads import download as download_of
from documents.downloads import download_archive
from documents.filters import FileType, Filters
from documents.ingest import Upload, ingest
from documents.labels import MAX_TAGS
from documents.lifecycle import JOB_TYPE, RECOGNITION_JOB_TYPE
from documents.lookup import current_version
from documents.models import Correspondent, DocumentPage, Note, SavedSearch, Tag
from documents.purge import purge
from documents.schemas import (
    BulkIn,
    BulkOut,
    ChangesIn,
    Day,
    DocumentOut,
    DocumentsOut,
    DuplicateProblem,
    JobOut,
    LabelOut,
    NoteIn,
    NoteOut,
    NoThumbnail,
    PasswordIn,
    Problem,
    RenameIn,
    RenameOut,
    SearchIn,
    SearchOut,
    UploadOut,
)
from documents.search_query import MAX_QUERY_CHARACTERS
from documents.states import DocumentStatus, Repeatable
from documents.uploads import ReceivedFile
from jobqueue.exceptions import JobNotFound
from jobqueue.queue import Queue

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = "5"

router = Router(tags=["documents"])
labels_router = Router(tags=["labels"])
searches_router = Router(tags=["searches"])
jobs_router = Router(tags=["jobs"])

# The first that fits counts. The codes are for programs and don't change.
_ANSWERS: list[tuple[type[Exception], int, str]] = [
    (exceptions.DocumentNotFound, 404, "document_not_found"),
    (exceptions.SearchNotFound, 404, "search_not_found"),
    (exceptions.UploadNotFound, 404, "upload_not_found"),
    (exceptions.OffsetConflict, 409, "offset_conflict"),
    (exceptions.OtherProtocol, 412, "tus_version"),
    (exceptions.TooManyUploads, 429, "too_many_uploads"),
    (exceptions.LabelNotFound, 404, "label_not_found"),
    (exceptions.NotAllowed, 403, "not_allowed"),
    (exceptions.NoteNotFound, 404, "note_not_found"),
    (exceptions.ArchiveNotFound, 404, "archive_not_found"),
    (exceptions.WrongPassword, 400, "wrong_password"),
    (exceptions.NotLocked, 409, "not_locked"),
    (exceptions.InvalidValue, 400, "invalid_value"),
    (exceptions.EmptyFile, 400, "empty_file"),
    (exceptions.FileTooLarge, 413, "file_too_large"),
    (exceptions.TenantFull, 413, "tenant_full"),
    (exceptions.DuplicateRefused, 409, "duplicate"),
    (exceptions.TypeNotAccepted, 415, "type_not_accepted"),
    (exceptions.TypeRefused, 415, "type_refused"),
    (exceptions.ObjectMissing, 410, "original_missing"),
    (exceptions.ObjectDamaged, 410, "original_damaged"),
    (exceptions.StorageFull, 507, "storage_full"),
    (exceptions.StorageError, 503, "storage_unavailable"),
]
_DETAILS = {
    410: "The original is not in the storage any more. Tell whoever runs this system.",
    503: "The documents' storage can't be reached. Try again.",
    507: "The documents' storage is full. Nothing was stored. Tell whoever runs this system.",
}
_FILE_HAS_CONTENT = {"schema": {"properties": {"file": {"minLength": 1}}}}
_PICTURE = {"description": "The thumbnail", "content": {"image/webp": {}}}
_BYTES = {"description": "The original, or a part of it", "content": {"*/*": {}}}


def answer_problem(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Turn one of the app's errors into an answer; those that are ours to mend also go to the log."""
    status, code = next((status, code) for kind, status, code in _ANSWERS if isinstance(error, kind))
    if status in _DETAILS:
        logger.error("%s %s %s: %s", status, request.method, request.path, error)
    body = {"detail": _DETAILS.get(status, str(error)), "code": code}
    if isinstance(error, exceptions.DuplicateRefused):
        body["document_id"] = str(error.document_id)
    answer = JsonResponse(body, status=status)
    if status == 503:
        answer["Retry-After"] = RETRY_AFTER_SECONDS
    return answer


def demanding_a_length(run: Callable[..., Any]) -> Callable[..., Any]:
    """Answer 411 to a body of undeclared length: under WSGI Django takes it for empty, and would miss the file."""

    @wraps(run)
    def demanding(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        is_undeclared = "Transfer-Encoding" in request.headers and "Content-Length" not in request.headers
        if is_undeclared and request.method in ("POST", "PATCH"):
            return JsonResponse({"detail": "Send the body with its Content-Length, not in chunks."}, status=411)
        return run(request, *args, **kwargs)

    return demanding


def demanding_a_role(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let readers read and nobody else than editors change anything, whatever call is added."""

    @wraps(run)
    def demanding(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method not in ("GET", "HEAD"):
            roles.require_edit(roles.role_of(request.user))
        return run(request, *args, **kwargs)

    return demanding


router.add_decorator(demanding_a_length, mode="view")
router.add_decorator(demanding_a_role)


@router.post(
    "",
    response={200: UploadOut, 201: UploadOut, 409: DuplicateProblem, (415, 507): Problem},
    summary="Upload a document",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": _FILE_HAS_CONTENT}}},
)
def upload(
    request: HttpRequest,
    file: File[UploadedFile],
    title: Form[str] = "",
    tags: Annotated[list[str], Form(max_length=MAX_TAGS, description="repeated, or divided by commas")] = [],  # noqa: B006 - ninja's way
) -> Status[dict[str, Any]]:
    """Store a file as a new document and have it processed. PDF, office files, mails, web pages and text become
    searchable, PDF and pictures get a thumbnail, other files are kept.

    If this tenant has the same bytes already, the answer is 200 with that document and `duplicate` true; if it lay in
    the trash it is restored, and `restored` is true. A tenant may have it refused (409) or stored once more (201).
    """
    received = _received(file)
    arrived = Upload(received, received.name or "", received.sha256, received.size or 0)
    names = [name for given in tags for name in given.split(",")]
    ingested = ingest(arrived, title, request.user, names)  # type: ignore[arg-type]  # nobody anonymous comes this far
    version = ingested.document.versions.get(is_current=True)
    stopped = bool(listing.interrupted([ingested.document]))
    answer = DocumentOut.fields_of(ingested.document, version, interrupted=stopped)
    flags = {"duplicate": ingested.duplicate, "restored": ingested.restored}
    return Status(200 if ingested.duplicate else 201, answer | flags)


@router.api_operation(["GET", "HEAD"], "", response=DocumentsOut, summary="List or search documents")
def list_documents(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS, description="words to find, as in a web search")] = "",
    status: DocumentStatus | None = None,
    tag: Annotated[list[str], Query(max_length=MAX_TAGS, description="repeated: documents that have each")] = [],  # noqa: B006 - ninja's way
    correspondent: str = "",
    type: FileType | None = None,
    since: Day = None,
    until: Day = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> dict[str, Any]:
    """List the documents, the newest first; or, with `q`, those that match, the best first.

    All filters hold together. `since` and `until` go by the document's date or, if it has none, by the day of its
    upload; both days are within.
    """
    filters = Filters(status, tuple(tag), correspondent, type, since, until)
    return listing.list_documents(words=q, filters=filters, page=page)


@router.post("/bulk", response=BulkOut, summary="Change many documents")
def change_many(request: HttpRequest, asked: BulkIn) -> Done:
    """Tag, trash or restore documents, each by itself. Ids that are missing are counted, and stop nothing."""
    user = cast(User, request.user)
    verbs: dict[str, Callable[[UUID], object]] = {
        "tag": lambda document_id: editing.tag_more(document_id, asked.tags, user),
        "trash": lambda document_id: lifecycle.trash(document_id, user),
        "restore": lambda document_id: lifecycle.restore(document_id, user),
    }
    labels.clean_names(asked.tags)
    return for_each(asked.ids, verbs[asked.action])


@router.api_operation(
    ["GET", "HEAD"],
    "/zip",
    response={(404, 410): Problem},
    summary="Download many originals",
    openapi_extra={"responses": {200: {"description": "A ZIP file", "content": {"application/zip": {}}}}},
)
def download_many(
    request: HttpRequest,
    id: Annotated[list[UUID], Query(min_length=1, max_length=MAX_ARCHIVED, description="repeated")],
) -> HttpResponseBase:
    """Send the originals of documents as a ZIP file; those that don't exist are left out."""
    return archive_of(id)


@router.api_operation(["GET", "HEAD"], "/{uuid:document_id}", response=DocumentOut)
def get_document(request: HttpRequest, document_id: UUID) -> dict[str, Any]:
    """Show a document."""
    return _answer(document_id)


@router.api_operation(
    ["GET", "HEAD"],
    "/{uuid:document_id}/download",
    response={(404, 410, 412, 416): Problem},
    openapi_extra={"responses": {200: _BYTES, 206: _BYTES, 304: {"description": "Not Modified"}}},
)
def download(request: HttpRequest, document_id: UUID) -> HttpResponseBase:
    """Send the original, bit by bit as it was uploaded. `Range`, `If-Range` and `If-None-Match` are honoured."""
    return download_of(request, current_version(document_id))


@router.api_operation(
    ["GET", "HEAD"],
    "/{uuid:document_id}/archive",
    response={(404, 410, 412, 416): Problem},
    openapi_extra={"responses": {200: _BYTES, 206: _BYTES, 304: {"description": "Not Modified"}}},
)
def archive(request: HttpRequest, document_id: UUID) -> HttpResponseBase:
    """Send the archive version: a PDF of a scan or picture in which the recognised text can be searched.

    404 with the code `archive_not_found` if there is none (yet).
    """
    return download_archive(request, current_version(document_id))


@router.api_operation(
    ["GET", "HEAD"],
    "/{uuid:document_id}/text",
    response={404: Problem},
    openapi_extra={"responses": {200: {"description": "OK", "content": {"text/plain": {}}}}},
)
def text(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Send the text, its pages divided by form feeds. 404 with the reason if the document has none."""
    version = current_version(document_id)
    pages = DocumentPage.objects.filter(version=version).order_by("number").values_list("text", flat=True)
    whole = "\f".join(pages)
    if not whole.strip("\f"):
        raise HttpError(404, listing.why_no_text(version.document))
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    return HttpResponse(whole, content_type="text/plain; charset=utf-8", headers=headers)


@router.api_operation(
    ["GET", "HEAD"],
    "/{uuid:document_id}/thumbnail",
    response={404: NoThumbnail, 412: Problem},
    openapi_extra={"responses": {200: _PICTURE, 304: {"description": "Not Modified"}}},
)
def thumbnail(request: HttpRequest, document_id: UUID) -> HttpResponseBase:
    """Send a small picture of the first page, WebP of at most 512 pixels a side. `If-None-Match` is honoured.

    404 with a code that says why, if there is none (yet).
    """
    return thumbnails.send(request, current_version(document_id))


@router.patch("/{uuid:document_id}", response=DocumentOut)
def edit(request: HttpRequest, document_id: UUID, changes: ChangesIn) -> dict[str, Any]:
    """Change title, tags, correspondent or date."""
    asked = cast(editing.Changes, changes.model_dump(exclude_unset=True))
    editing.edit(document_id, asked, request.user)  # type: ignore[arg-type]  # as above
    return _answer(document_id)


@router.api_operation(["GET", "HEAD"], "/{uuid:document_id}/notes", response=list[NoteOut], summary="List notes")
def list_notes(request: HttpRequest, document_id: UUID) -> list[Note]:
    """List what was written about a document, the oldest first."""
    return list(current_version(document_id).document.notes.order_by("pk"))


@router.post("/{uuid:document_id}/notes", response={201: NoteOut}, summary="Write a note")
def add_note(request: HttpRequest, document_id: UUID, note: NoteIn) -> Status[Note]:
    """Write something about a document."""
    return Status(201, editing.add_note(document_id, note.text, request.user))  # type: ignore[arg-type]  # as above


@router.delete("/{uuid:document_id}/notes/{int:note_id}", response={204: None}, summary="Remove a note")
def remove_note(request: HttpRequest, document_id: UUID, note_id: int) -> Status[None]:
    """Remove a note for good."""
    editing.remove_note(document_id, note_id, request.user)  # type: ignore[arg-type]  # as above
    return Status(204, None)


@router.delete("/{uuid:document_id}", response={204: None})
def delete(request: HttpRequest, document_id: UUID) -> Status[None]:
    """Move a document to the trash."""
    lifecycle.trash(document_id, request.user)  # type: ignore[arg-type]  # as above
    return Status(204, None)


@router.post("/{uuid:document_id}/restore", response=DocumentOut)
def restore(request: HttpRequest, document_id: UUID) -> dict[str, Any]:
    """Take a document out of the trash."""
    lifecycle.restore(document_id, request.user)  # type: ignore[arg-type]  # as above
    return _answer(document_id)


@router.post("/{uuid:document_id}/purge", response={204: None}, summary="Delete for good")
def delete_for_good(request: HttpRequest, document_id: UUID) -> Status[None]:
    """Delete a document that lies in the trash, with its original. For admins alone."""
    roles.require_purge(roles.role_of(request.user))
    purge(document_id, request.user)  # type: ignore[arg-type]  # as above
    return Status(204, None)


@router.post("/{uuid:document_id}/reprocess", response={202: DocumentOut, 400: Problem})
def reprocess(request: HttpRequest, document_id: UUID, step: Repeatable | None = None) -> Status[dict[str, Any]]:
    """Run the processing, or with `step` that step, again, unless any is running."""
    lifecycle.reprocess(document_id, request.user, step)  # type: ignore[arg-type]  # as above
    return Status(202, _answer(document_id))


@router.post("/{uuid:document_id}/unlock", response={202: DocumentOut, (400, 409): Problem}, summary="Unlock a PDF")
def unlock(request: HttpRequest, document_id: UUID, told: PasswordIn) -> Status[dict[str, Any]]:
    """Open a PDF that is `locked` with its password, and have it read. The password is used once and kept nowhere.

    The original stays as it is; a copy without the password, which `download` never sends, lies beside it.
    """
    unlocking.unlock(document_id, told.password.get_secret_value(), request.user)  # type: ignore[arg-type]  # as above
    return Status(202, _answer(document_id))


@labels_router.api_operation(["GET", "HEAD"], "/tags", response=list[LabelOut], summary="List tags")
def list_tags(request: HttpRequest) -> list[dict[str, Any]]:
    """List the tags that documents have."""
    return labels.in_use(Tag)


@labels_router.api_operation(["GET", "HEAD"], "/correspondents", response=list[LabelOut], summary="List correspondents")
def list_correspondents(request: HttpRequest) -> list[dict[str, Any]]:
    """List the correspondents that documents have."""
    return labels.in_use(Correspondent)


@labels_router.post("/tags/rename", response={200: RenameOut, (400, 403): Problem}, summary="Rename or merge tags")
def rename_tag(request: HttpRequest, asked: RenameIn) -> relabelling.Relabelled:
    """Give all documents that have a tag another one instead. If that exists already, the two are one afterwards."""
    return _renamed(request, Tag, asked)


@labels_router.post(
    "/correspondents/rename", response={200: RenameOut, (400, 403): Problem}, summary="Rename or merge correspondents"
)
def rename_correspondent(request: HttpRequest, asked: RenameIn) -> relabelling.Relabelled:
    """Give all documents that have a correspondent another one instead, as with tags."""
    return _renamed(request, Correspondent, asked)


def _renamed(request: HttpRequest, kind: type[Tag] | type[Correspondent], asked: RenameIn) -> relabelling.Relabelled:
    roles.require_edit(roles.role_of(request.user))
    return relabelling.rename(kind, asked.name, asked.new_name, cast(User, request.user))


@searches_router.api_operation(["GET", "HEAD"], "", response=list[SearchOut], summary="List saved searches")
def list_searches(request: HttpRequest) -> list[SavedSearch]:
    """List the searches that you have saved. Nobody else sees them."""
    return searches.searches_of(cast(User, request.user))


@searches_router.post("", response={201: SearchOut, 400: Problem}, summary="Save a search")
def save_search(request: HttpRequest, search: SearchIn) -> Status[SavedSearch]:
    """Keep a search under a name; one of yours that has this name is replaced. Readers may do so, too."""
    asked = search.model_dump(mode="json", exclude={"name"})
    return Status(201, searches.save(cast(User, request.user), search.name, asked))


@searches_router.delete("/{int:search_id}", response={204: None}, summary="Forget a saved search")
def remove_search(request: HttpRequest, search_id: int) -> Status[None]:
    """Forget one of your searches."""
    searches.remove(cast(User, request.user), search_id)
    return Status(204, None)


@jobs_router.api_operation(["GET", "HEAD"], "/{int:job_id}", response=JobOut)
def get_job(request: HttpRequest, job_id: int) -> dict[str, Any]:
    """Show how far the processing of a document is. Jobs that ended long ago are unknown."""
    try:
        job = Queue().get(job_id)
    except JobNotFound as error:
        raise HttpError(404, str(error)) from error
    if job.job_type not in (JOB_TYPE, RECOGNITION_JOB_TYPE):
        raise HttpError(404, f"There is no job {job_id}.")
    return {
        "id": job.pk,
        "status": job.status,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "progress": job.progress,
        "error": job.last_error.partition("\n")[0][:500],
        "created_at": job.created_at,
        "finished_at": job.finished_at,
    }


def _answer(document_id: UUID) -> dict[str, Any]:
    version = current_version(document_id)
    stopped = bool(listing.interrupted([version.document]))
    return DocumentOut.fields_of(version.document, version, interrupted=stopped)


def _received(file: UploadedFile) -> ReceivedFile:
    if not isinstance(file, ReceivedFile):
        raise TypeError("The upload came by another handler: see the system check documents.E003.")
    return file
