"""The page of all tags and correspondents, where they are renamed and merged."""

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from documents import labels as documents_labels
from documents import relabelling
from documents.exceptions import InvalidValue
from documents.models import Correspondent, Tag
from documents.pages.access import PageRequest, page
from documents.pages.words import refused

_KINDS: dict[str, type[Tag] | type[Correspondent]] = {"tag": Tag, "correspondent": Correspondent}


@require_safe
@page
def labels(request: PageRequest) -> HttpResponseBase:
    """List them, with how many documents have each."""
    groups = [
        ("tag", _("Tags"), documents_labels.in_use(Tag)),
        ("correspondent", _("Correspondents"), documents_labels.in_use(Correspondent)),
    ]
    return render(request, "documents/labels.html", {"groups": groups})


@require_POST
@page
def rename(request: PageRequest) -> HttpResponseBase:
    """Give a tag or correspondent another name; if another one has that, they are one afterwards."""
    kind = _KINDS.get(request.POST.get("kind", ""), Tag)
    try:
        done = relabelling.rename(kind, request.POST.get("name", ""), request.POST.get("new_name", ""), request.user)
    except InvalidValue as error:
        messages.error(request, str(refused(error)))
    else:
        messages.success(request, _said(done))
    return redirect("documents:labels")


def _said(done: relabelling.Relabelled) -> str:
    said = ngettext(
        "“%(name)s” is the name now, of %(count)d document.",
        "“%(name)s” is the name now, of %(count)d documents.",
        done.documents,
    ) % {"name": done.name, "count": done.documents}
    return f"{said} {_('It was there before, so the two are one now.')}" if done.merged else said
