"""A furnished world: two tenants and the operators."""

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from dms_project.tenancy import PUBLIC
from tests.access.world import World, furnish
from tests.documents.servers import use_storage


@pytest.fixture
def world(db: None, settings: Any, tmp_path: Path) -> World:
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    use_storage(settings, folder)
    cache.clear()  # failed logins are counted there
    return World(acme=furnish("acme", 7000), globex=furnish("globex", 8000), public=furnish(PUBLIC, 9000))
