"""Saved searches: each user's own, in the tenant where the user is."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from documents.exceptions import InvalidValue, SearchNotFound
from documents.labels import clean_name, key_of
from documents.models import SavedSearch

MOST_SEARCHES = 50

#: What a search may ask for, as the parameters of the list's address are called.
PARAMETERS = ("q", "status", "tag", "correspondent", "type", "since", "until")


def searches_of(user: User) -> list[SavedSearch]:
    """Return a user's searches, by the alphabet."""
    return list(SavedSearch.objects.filter(user=user).order_by("key"))


def save(user: User, name: str, asked: Mapping[str, Any]) -> SavedSearch:
    """Keep a search under a name; one that has this name already is replaced.

    Args:
        asked: Parameters of the list's address, ``tag`` as a list; empty ones are left out.

    Raises:
        InvalidValue: The name is empty or too long, nothing is asked for, or the user has too many.
    """
    name = clean_name(name)
    if not name:
        raise InvalidValue("name_empty", "A search needs a name.")
    kept = {parameter: asked[parameter] for parameter in PARAMETERS if asked.get(parameter)}
    if not kept:
        raise InvalidValue("nothing_asked", "This search asks for nothing.")
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # two at a time are counted one after the other
        others = SavedSearch.objects.filter(user=user).exclude(key=key_of(name))
        if others.count() >= MOST_SEARCHES:
            raise InvalidValue("too_many_searches", f"A user has {MOST_SEARCHES} searches at most.")
        named = {"name": name, "asked": kept}
        search, _ = SavedSearch.objects.update_or_create(user=user, key=key_of(name), defaults=named)
    return search


def remove(user: User, search_id: int) -> None:
    """Forget one of a user's searches.

    Raises:
        SearchNotFound: Also if it is somebody else's.
    """
    search = SavedSearch.objects.filter(user=user, pk=search_id).first()
    if search is None:
        raise SearchNotFound(f"There is no search {search_id}.")
    search.delete()


def follow_tag(old_key: str, new: str) -> None:
    """Have everybody's searches ask for a tag by its new name. Joins the caller's transaction."""
    for search in SavedSearch.objects.select_for_update().filter(asked__has_key="tag").order_by("pk"):
        tags = search.asked["tag"]
        search.asked["tag"] = list(dict.fromkeys(new if key_of(tag) == old_key else tag for tag in tags))
        if search.asked["tag"] != tags:
            search.save(update_fields=["asked"])


def follow_correspondent(old_key: str, new: str) -> None:
    """Have everybody's searches ask for a correspondent by its new name. Joins the caller's transaction."""
    for search in SavedSearch.objects.select_for_update().filter(asked__has_key="correspondent").order_by("pk"):
        if key_of(search.asked["correspondent"]) == old_key:
            search.asked["correspondent"] = new
            search.save(update_fields=["asked"])
