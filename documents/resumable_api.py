"""Resumable uploads over HTTP: tus 1.0.0 (https://tus.io/protocols/resumable-upload) with the extensions creation,
creation-with-upload, termination and expiration.
"""

import base64
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils.http import http_date
from ninja import Router, Status

from documents import intake, resumable
from documents.api import demanding_a_length, demanding_a_role
from documents.exceptions import InvalidValue, OtherProtocol
from documents.models import ResumableUpload
from documents.schemas import DuplicateProblem, Problem, ResumableUploadOut

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,termination,expiration"
PIECE_TYPE = "application/offset+octet-stream"
_NUMBER = re.compile(r"[0-9]{1,15}")

router = Router(tags=["resumable uploads"])


def speaking_tus(run: Callable[..., Any]) -> Callable[..., Any]:
    """Say in each answer which version is spoken."""

    @wraps(run)
    def speaking(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        answer = run(request, *args, **kwargs)
        answer["Tus-Resumable"] = answer["Tus-Version"] = VERSION
        return answer

    return speaking


def demanding_tus(run: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse clients that speak another version, or don't say which. GET is no part of tus."""

    @wraps(run)
    def demanding(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        spoken = request.headers.get("Tus-Resumable")
        if request.method not in ("OPTIONS", "GET") and spoken != VERSION:
            message = f"Send the header Tus-Resumable: {VERSION}."
            raise OtherProtocol(message) if spoken else InvalidValue("header", message)
        return run(request, *args, **kwargs)

    return demanding


router.add_decorator(demanding_a_length, mode="view")
router.add_decorator(speaking_tus, mode="view")
router.add_decorator(demanding_tus)
router.add_decorator(demanding_a_role)


def _header(name: str, text: str, pattern: str = "", *, required: bool = True) -> dict[str, Any]:
    schema = {"type": "string"} | ({"pattern": f"^{pattern}$"} if pattern else {})
    return {"name": name, "in": "header", "required": required, "description": text, "schema": schema}


# Not "required" for OpenAPI, whose "required" is answered 400: a client of another version is answered 412.
_TUS = _header("Tus-Resumable", f"`{VERSION}`, except with GET and OPTIONS", required=False)
_BYTES = {"content": {PIECE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}


@router.api_operation(["OPTIONS"], "", response={204: None}, summary="Ask what is spoken")
def describe(request: HttpRequest, response: HttpResponse) -> Status[None]:
    """Tell the extensions of tus that are known, and how large a file may be."""
    response["Tus-Extension"] = EXTENSIONS
    response["Tus-Max-Size"] = str(intake.max_file_bytes())
    return Status(204, None)


@router.post(
    "",
    response={201: None, (400, 409, 412, 415, 429, 507): Problem},
    summary="Begin an upload",
    openapi_extra={
        "parameters": [
            _TUS,
            _header("Upload-Length", "bytes of the file", _NUMBER.pattern),
            _header(
                "Upload-Metadata",
                "`filename`, `title`, `tags` (divided by commas), each with its Base64",
                required=False,
            ),
        ],
        "requestBody": {"required": False} | _BYTES,
    },
)
def create(request: HttpRequest, response: HttpResponse) -> Status[None]:
    """Make an upload, whose address comes as `Location`. Its first bytes may come with it."""
    size = _number(request, "Upload-Length")
    about = _metadata(request.headers.get("Upload-Metadata", ""))
    user = cast(User, request.user)
    tags = [tag for tag in about.get("tags", "").split(",") if tag.strip()]
    upload = resumable.begin(user, size, about.get("filename", ""), about.get("title", ""), tags)
    if request.content_type == PIECE_TYPE and _length(request):
        upload = resumable.receive(upload, 0, _Body(request), _length(request))
    response["Location"] = f"{request.path}/{upload.pk}"
    _tell(response, upload)
    return Status(201, None)


@router.api_operation(
    ["GET", "HEAD"],
    "/{uuid:upload_id}",
    response={200: ResumableUploadOut, (400, 404, 412): Problem},
    summary="Ask where an upload goes on",
    openapi_extra={"parameters": [_TUS]},
)
def look(request: HttpRequest, response: HttpResponse, upload_id: UUID) -> ResumableUpload:
    """Tell as headers how much has arrived, and by GET also what has become of it."""
    upload = resumable.find(upload_id, cast(User, request.user))
    _tell(response, upload)
    response["Upload-Length"] = str(upload.size_bytes)
    return upload


@router.patch(
    "/{uuid:upload_id}",
    response={204: None, (400, 404, 412, 413, 415, 507): Problem, 409: DuplicateProblem | Problem},
    summary="Send the next bytes",
    openapi_extra={
        "parameters": [_TUS, _header("Upload-Offset", "where they begin: what HEAD tells", _NUMBER.pattern)],
        "requestBody": {"required": True} | _BYTES,
    },
)
def send(request: HttpRequest, response: HttpResponse, upload_id: UUID) -> Status[Any]:
    """Take in the next bytes. With the last one the file becomes a document, as by `POST /api/documents`.

    If the connection breaks, what has arrived is kept: ask by HEAD, and go on from there.
    """
    upload = resumable.find(upload_id, cast(User, request.user))
    if request.content_type != PIECE_TYPE:
        return Status(415, {"detail": f"Send the bytes as {PIECE_TYPE}.", "code": "content_type"})
    offset = _number(request, "Upload-Offset")
    _tell(response, resumable.receive(upload, offset, _Body(request), _length(request)))
    return Status(204, None)


@router.delete("/{uuid:upload_id}", response={204: None, (400, 404, 412): Problem}, summary="Give an upload up",
               openapi_extra={"parameters": [_TUS]})  # fmt: skip
def remove(request: HttpRequest, upload_id: UUID) -> Status[None]:
    """Remove what has arrived. A document that it has become stays."""
    resumable.give_up(resumable.find(upload_id, cast(User, request.user)))
    return Status(204, None)


class _Body:
    """The body of a request, read while it comes."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def read(self, size: int, /) -> bytes:
        try:
            return self._request.read(size)
        except UnreadablePostError as error:
            raise ConnectionResetError("the client is gone") from error


def _tell(response: HttpResponse, upload: ResumableUpload) -> None:
    response["Upload-Offset"] = str(upload.received_bytes)
    response["Upload-Expires"] = http_date(upload.expires_at.timestamp())


def _length(request: HttpRequest) -> int:
    return int(request.META.get("CONTENT_LENGTH") or 0)


def _number(request: HttpRequest, name: str) -> int:
    text = request.headers.get(name, "")
    if not _NUMBER.fullmatch(text):
        raise InvalidValue("header", f"{name} must be a number of bytes, not {text[:40]!r}.")
    return int(text)


def _metadata(text: str) -> dict[str, str]:
    """Read ``Upload-Metadata``: pairs of a name and a value in Base64, divided by commas."""
    about = {}
    for pair in text.split(","):
        name, _, value = pair.strip().partition(" ")
        try:
            about[name] = base64.b64decode(value, validate=True).decode()
        except ValueError:  # no Base64, or no UTF-8 in it
            message = f"Upload-Metadata: the value of {name[:40]!r} is not Base64 of UTF-8."
            raise InvalidValue("header", message) from None
    return about
