"""The forms that do something: each a POST that ends on a page which shows what was done."""

from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from documents import lifecycle
from documents.lookup import current_version
from documents.pages.access import PageRequest, page


@require_POST
@page
def rename(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Give a document another title."""
    try:
        lifecycle.rename(document_id, request.POST.get("title", ""), request.user)
    except ValueError:
        messages.error(request, _("A title needs at least one visible character. The old one stays."))
    return redirect("documents:document", document_id)


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
def reprocess(request: PageRequest, document_id: UUID) -> HttpResponseBase:
    """Have a document read again."""
    lifecycle.reprocess(document_id, request.user)
    return redirect("documents:document", document_id)
