"""Saved searches: shown above the list, saved from what it shows, removed."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from documents import searches
from documents.exceptions import InvalidValue
from documents.pages.access import PageRequest, own
from documents.pages.asked import Asked
from documents.pages.words import refused


@dataclass(frozen=True)
class Saved:
    """A saved search, with the address that asks for it."""

    id: int
    name: str
    address: str


def saved_of(user: User) -> list[Saved]:
    """Return a user's searches."""
    found = searches.searches_of(user)
    return [Saved(each.pk, each.name, f"?{urlencode(each.asked, doseq=True)}") for each in found]


@require_POST
@own
def save(request: PageRequest) -> HttpResponseBase:
    """Keep what the list shows under a name, and show it again."""
    asked = Asked.of_parameters(QueryDict(request.POST.get("asked", "")))
    try:
        saved = searches.save(request.user, request.POST.get("name", ""), asked.parameters)
        messages.success(request, _("The search “%(name)s” is saved.") % {"name": saved.name})
    except InvalidValue as error:
        messages.error(request, str(refused(error)))
    return redirect(reverse("documents:list") + asked.address())


@require_POST
@own
def remove(request: PageRequest, search_id: int) -> HttpResponseBase:
    """Forget a search."""
    searches.remove(request.user, search_id)
    messages.success(request, _("The saved search is gone."))
    return redirect("documents:list")
