"""The forms that do something: each a POST that ends on a page which shows what was done."""

import contextlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from documents import editing, lifecycle, unlocking
from documents.exceptions import InvalidValue, NoteNotFound
from documents.lookup import current_version
from documents.pages.access import PageRequest, page
from documents.pages.forms import EditForm
from documents.pages.words import refused
from documents.purge import purge
from documents.roles import require_purge
from documents.schemas import MAX_PASSWORD_CHARACTERS
from documents.states import Repeatable


@require_POST
@page
def edit(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Change title, tags, correspondent and date: those of them that the form has."""
    form = EditForm(request.POST)
    if form.is_valid():
        _try(request, editing.edit, document_id, form.changes, request.user)
    else:
        messages.error(request, _("That is no date. Nothing was changed."))
    return redirect("documents:document", document_id)


@require_POST
@page
def add_note(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Write a note."""
    _try(request, editing.add_note, document_id, request.POST.get("text", ""), request.user)
    return redirect(f"{reverse('documents:document', args=[document_id])}#notes")


@require_POST
@page
def remove_note(request: PageRequest, document_id: UUID, note_id: int) -> HttpResponseBase:
    """Remove a note; one that is gone already is what was wanted."""
    with contextlib.suppress(NoteNotFound):
        editing.remove_note(document_id, note_id, request.user)
    return redirect(f"{reverse('documents:document', args=[document_id])}#notes")


@require_POST
@page
def trash(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Move a document to the trash ; the page offers to undo it (by the id in the message's tags)."""
    title = current_version(document_id).document.title
    lifecycle.trash(document_id, request.user)
    said = _("“%(title)s” is in the trash.") % {"title": title}
    messages.success(request, said, extra_tags=str(document_id))
    return redirect("documents:list")


@require_POST
@page
def restore(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Take a document out of the trash and show it."""
    document = lifecycle.restore(document_id, request.user)
    messages.success(request, _("“%(title)s” is back.") % {"title": document.title})
    return redirect("documents:document", document_id)


@require_POST
@page
def delete_for_good(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Delete a document that lies in the trash, with its original."""
    require_purge(request.role)
    purge(document_id, request.user)
    messages.success(request, _("The document was deleted for good."))
    return redirect("documents:trashed")


@require_POST
@page
def reprocess(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Have a document read again, or one step of that repeated."""
    step = request.POST.get("step", "")
    wanted = Repeatable(step) if step in set(Repeatable) else None
    _try(request, lifecycle.reprocess, document_id, request.user, wanted)
    return redirect("documents:document", document_id)


@require_POST
@page
@sensitive_variables("password")
def unlock(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Open a locked document with the password that the form brings."""
    password = request.POST.get("password", "")[:MAX_PASSWORD_CHARACTERS]
    _try(request, unlocking.unlock, document_id, password, request.user)
    return redirect("documents:document", document_id)


def _try(request: PageRequest, change: Callable[..., Any], *args: Any) -> None:
    """Change something, or say above the page why not."""
    try:
        change(*args)
    except InvalidValue as error:
        messages.error(request, str(refused(error)))
