"""What is done to all documents that are ticked in a list."""

from collections.abc import Callable, Iterable
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from documents import editing, labels, lifecycle
from documents.archive import archive_of
from documents.bulk import Done, for_each
from documents.exceptions import InvalidValue
from documents.pages.access import PageRequest, page
from documents.pages.words import refused


@require_POST
@page
def change(request: PageRequest) -> HttpResponseBase:
    """Tag, trash or restore what is ticked, and go back to the list; or download it."""
    ids = _ids(request.POST.getlist("id"))
    if request.POST.get("action") == "download":
        return archive_of(ids)
    verb = _VERBS.get(request.POST.get("action", ""))
    if verb and ids:
        try:
            messages.success(request, verb(request, ids))
        except InvalidValue as error:
            messages.error(request, str(refused(error)))
    back = request.POST.get("next", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, None) else "documents:list")


@require_safe
@page
def download(request: PageRequest) -> HttpResponseBase:
    """Send the originals of what is ticked as a ZIP file, also to those who may change nothing."""
    return archive_of(_ids(request.GET.getlist("id")))


def _tag(request: PageRequest, ids: list[UUID]) -> str:
    names = labels.clean_names(request.POST.get("tags", "").split(","))
    if not names:
        return _("No tag was given, so nothing was changed.")
    done = for_each(ids, lambda document_id: editing.tag_more(document_id, names, request.user))
    return _said(done, ngettext("%(count)d document tagged.", "%(count)d documents tagged.", done.changed))


def _trash(request: PageRequest, ids: list[UUID]) -> str:
    done = for_each(ids, lambda document_id: lifecycle.trash(document_id, request.user))
    return _said(
        done, ngettext("%(count)d document is in the trash.", "%(count)d documents are in the trash.", done.changed)
    )


def _restore(request: PageRequest, ids: list[UUID]) -> str:
    done = for_each(ids, lambda document_id: lifecycle.restore(document_id, request.user))
    return _said(done, ngettext("%(count)d document is back.", "%(count)d documents are back.", done.changed))


def _said(done: Done, text: str) -> str:
    said = text % {"count": done.changed}
    if done.missing:
        missing = ngettext("%(count)d was not there any more.", "%(count)d were not there any more.", done.missing)
        said += " " + missing % {"count": done.missing}
    return said


_VERBS: dict[str, Callable[[PageRequest, list[UUID]], str]] = {"tag": _tag, "trash": _trash, "restore": _restore}


def _ids(given: Iterable[str]) -> list[UUID]:
    ids = []
    for text in given:
        try:
            ids.append(UUID(text))
        except ValueError:
            continue  # nobody's id
    return ids
