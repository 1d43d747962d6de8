"""A furnished world: two tenants and the operators."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.test import override_settings

from dms_project.tenancy import PUBLIC
from documents.storage import object_store
from tests.access.world import World, furnish


@pytest.fixture(scope="module")
def furnished(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """What the tests of a file find, in a transaction around all of them."""
    folder = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(tmp_path_factory.mktemp("storage"))},
    }
    storages = override_settings(STORAGES=settings.STORAGES | {"documents": folder})
    around_all = transaction.atomic()
    around_all._from_testcase = True  # private: as around a test, what needs a transaction of its own runs in it
    with django_db_blocker.unblock(), storages, around_all:
        object_store().prepare()
        yield World(acme=furnish("acme", 7000), globex=furnish("globex", 8000), public=furnish(PUBLIC, 9000))
        transaction.set_rollback(True)


@pytest.fixture
def world(furnished: World) -> Iterator[World]:
    """Two tenants and the operators. What a test does to their rows is undone; ``db`` would end the transaction."""
    cache.clear()  # failed logins are counted there
    savepoint = connection.savepoint()
    yield furnished
    connection.savepoint_rollback(savepoint)
