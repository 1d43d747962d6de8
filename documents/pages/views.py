"""The pages that show something."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, replace_url

from dms_project.tenancy import PUBLIC, current
from documents import labels, listing
from documents.downloads import download as download_of
from documents.downloads import download_archive
from documents.filters import FileType
from documents.lookup import current_version
from documents.models import Correspondent, Document, Tag
from documents.pages import errors
from documents.pages.access import PageRequest, page
from documents.pages.asked import Asked, page_number
from documents.pages.file_kinds import FileKind, kind_of
from documents.pages.searches import saved_of
from documents.pages.states import State, state_of, states_of
from documents.pages.steps import steps_of
from documents.pages.text import text_around
from documents.pages.timeline import timeline
from documents.processing.media_types import can_be_drawn
from documents.search_query import MAX_QUERY_CHARACTERS
from documents.unlocking import is_locked


@dataclass(frozen=True)
class Row:
    """A document in a list, as it is shown."""

    listed: listing.Listed
    kind: FileKind
    state: State


@require_safe
def home(request: HttpRequest) -> HttpResponseBase:
    """Show the list, or lead operators to their admin: they have no documents."""
    if current() == PUBLIC:
        return redirect("admin:index")
    return documents(request)


@page
def documents(request: PageRequest) -> HttpResponseBase:
    """List or search documents. htmx gets the results alone."""
    asked = Asked.of(request)
    context = _list(asked.page, words=asked.words, filters=asked.filters)
    context |= {"asked": asked, "words": asked.words, "status": asked.filters.status}
    if request.htmx and not request.htmx.history_restore_request:
        return _with_url(request, asked, render(request, "documents/_results.html", context))
    context |= {"searches": saved_of(request.user)}
    names = {"tags": labels.names(Tag), "correspondents": labels.names(Correspondent), "types": FileType.choices}
    return render(request, "documents/list.html", context | names)


@require_safe
@page
def trash(request: PageRequest) -> HttpResponseBase:
    """List what lies in the trash."""
    asked = Asked("", listing.ALL, page_number(request))
    return render(request, "documents/trash.html", _list(asked.page, trashed=True) | {"asked": asked})


@require_safe
@page
def states(request: PageRequest) -> HttpResponseBase:
    """Tell htmx the states of the documents on a page that hadn't ended when it asked last, all in one answer."""
    asked = request.GET.get("ids", "").split(",")[: listing.PAGE_SIZE]
    try:
        ids = [UUID(text) for text in asked]
    except ValueError:
        return errors.bad_request(request)
    rows = _rows(listing.of_ids(ids))
    gone = set(ids) - {row.listed.document.pk for row in rows}
    return render(request, "documents/_states.html", {"rows": rows, "gone": gone, "watched": _watched(rows)})


@require_safe
@page
def document(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Show a document. htmx, which asks while it is being read, gets the parts that change."""
    version = current_version(document_id)
    words = request.GET.get("q", "")[:MAX_QUERY_CHARACTERS]
    shown = version.document
    state = state_of(shown)
    context = {
        "document": shown,
        "version": version,
        "kind": kind_of(version.mime_type),
        "drawable": can_be_drawn(version.mime_type),
        "state": state,
        "steps": steps_of(version, state),
        "is_locked": is_locked(version),
        "text": text_around(version, page_number(request), words),
        "notes": list(shown.notes.order_by("pk")),
        "correspondents": labels.names(Correspondent),
        "events": timeline(shown),
        "words": words,
    }
    partly = request.htmx and not request.htmx.history_restore_request
    return render(request, "documents/_document_parts.html" if partly else "documents/document.html", context)


@require_safe
@page
def archive(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Send the archive version, as the API does."""
    return download_archive(request, current_version(document_id))


@require_safe
@page
def download(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Send the original, as the API does; what goes wrong is told on a page."""
    return download_of(request, current_version(document_id))


def _list(number: int, **wanted: Any) -> dict[str, Any]:
    """Return what the templates of lists need. Behind the last page comes the last page."""
    found = listing.find(page=number, **wanted)
    last = max(1, -(-found.count // listing.PAGE_SIZE))
    if number > last:
        number, found = last, listing.find(page=last, **wanted)
    rows = _rows(found.items)
    return {
        "rows": rows,
        "count": found.count,
        "more": found.more,
        "suggestion": found.suggestion,
        "page": number,
        "last_page": last,
        "watched": _watched(rows),
        "any": found.count > 0 or Document.objects.filter(deleted_at=None).exists(),
    }


def _rows(found: list[listing.Listed]) -> list[Row]:
    states_by_id = states_of(listed.document for listed in found)
    return [Row(each, kind_of(each.version.mime_type), states_by_id[each.document.pk]) for each in found]


def _watched(rows: list[Row]) -> str:
    return ",".join(str(row.listed.document.pk) for row in rows if row.state.active)


def _with_url(request: PageRequest, asked: Asked, response: HttpResponse) -> HttpResponse:
    """Have the address follow the search: a step back leads to before the search, not to each letter of it."""
    query = asked.address(page=asked.page if asked.page > 1 else "")
    url = reverse("documents:list") + (query if query != "?" else "")
    before = request.htmx.current_url_abs_path or ""
    if before == url:
        return response
    return replace_url(response, url) if "q=" in urlsplit(before).query else push_url(response, url)
