"""What a function returns was read in the tenant in which it was called, and nothing of it is read later (T05)."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet

from dms_project.tenancy import use
from documents import audit, listing
from documents.lookup import current_version
from documents.models import Document
from documents.pages.states import states_of
from documents.pages.text import text_around
from documents.pages.timeline import timeline
from documents.states import AuditAction
from tests.pages import made

ID = UUID("00000000-0000-4000-8000-000000000001")
WORDS = {"acme": "aardvark", "globex": "giraffe"}

# All that other parts of the project call to read. (documents.search gives querysets to documents.listing.)
HELPERS: dict[str, Callable[[], Any]] = {
    "the list": lambda: listing.find(),
    "a search": lambda: listing.find(words="shared"),
    "the trash": lambda: listing.find(trashed=True),
    "the list of the API": lambda: listing.list_documents(words="shared", page=1),
    "documents by id": lambda: listing.of_ids([ID]),
    "a version": lambda: current_version(ID),
    "states": lambda: (states_of(Document.objects.filter(pk=ID)), current_version(ID)),
    "a text": lambda: text_around(current_version(ID), 1),
    "a text with its hits": lambda: text_around(current_version(ID), 1, "shared"),
    "a history": lambda: timeline(current_version(ID).document),
}


@pytest.fixture
def twins(db: None) -> None:
    """Documents with the same ids in both tenants, whose contents differ in a word."""
    for tenant, word in WORDS.items():
        with use(tenant):
            user = User.objects.create_user(word, pk=1)
            made.document(word, f"shared {word}", pk=ID, created_by=user)
            made.document(word, f"shared {word}", trashed=True, created_by=user)
            audit.record(AuditAction.UPLOADED, ID, user)


@pytest.mark.parametrize("name", HELPERS)
def test_nothing_is_read_after_the_block(name: str, twins: None, django_assert_num_queries: Any) -> None:
    for tenant, word in WORDS.items():
        with use(tenant):
            value = HELPERS[name]()
        (other,) = set(WORDS) - {tenant}
        with use(other), django_assert_num_queries(0):
            told = repr(list(_flattened(value)))
        assert word in told
        assert WORDS[other] not in told


def _flattened(value: Any) -> Any:
    """Yield every single value, as deep as it goes: of rows, what they hold, and what was fetched with them."""
    assert not isinstance(value, QuerySet)
    if isinstance(value, Model):
        yield from (getattr(value, field.attname) for field in value._meta.concrete_fields)
        yield from (part for related in value._state.fields_cache.values() for part in _flattened(related))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (part for field in fields(value) for part in _flattened(getattr(value, field.name)))
    elif isinstance(value, dict):
        yield from (part for entry in value.items() for part in _flattened(entry))
    elif isinstance(value, list | tuple | set):
        yield from (part for entry in value for part in _flattened(entry))
    else:
        yield value
