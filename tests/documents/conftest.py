"""Stores, users and HTTP clients for the tests of documents."""

from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from documents.storage import ObjectStore, key_of
from tests.documents.http import Api
from tests.documents.servers import S3Server, s3_storage, use_storage
from tests.faults.proxy import FaultyConnection


@pytest.fixture(autouse=True)
def local_store(settings: Any, tmp_path: Path) -> ObjectStore:
    """Every test has a folder of its own as its store; some replace it."""
    entry = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(tmp_path / "storage")},
    }
    return use_storage(settings, entry)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def s3_store(s3_server: S3Server, settings: Any) -> ObjectStore:
    store = use_storage(settings, s3_storage(s3_server.port))
    s3_server.wait_until_ready(store)
    return store


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """The test runs on a local folder and on an S3 server."""
    found: ObjectStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture(params=["local", "s3"])
def own_store(request: pytest.FixtureRequest, settings: Any, tenant: str) -> ObjectStore:
    """A store that holds nothing of other tests."""
    store: ObjectStore
    if request.param == "local":
        store = request.getfixturevalue("local_store")
        return store
    request.getfixturevalue("s3_store")
    server: S3Server = request.getfixturevalue("s3_server")
    store = use_storage(settings, s3_storage(server.port, bucket="verified"))
    store.put(key_of("departed", uuid4(), 1), BytesIO(), sha256().hexdigest())  # makes the bucket, too
    for name in ("acme", "globex", "departed"):
        store.delete_tenant(name)
    return store


@pytest.fixture
def connection_to_s3(s3_server: S3Server, s3_store: ObjectStore, settings: Any) -> Iterator[FaultyConnection]:
    """The store of documents is the S3 server, behind a connection that the test can break."""
    proxy = FaultyConnection(s3_server.port)
    use_storage(settings, s3_storage(proxy.port))
    yield proxy
    proxy.close()


@pytest.fixture
def user(tenant: str) -> User:
    """A user of the tenant of the test."""
    return User.objects.create_user("alice")


@pytest.fixture
def api(tenant: str, user: User) -> Api:
    """The HTTP API of the tenant of the test, called by ``user``."""
    return Api(tenant, user)
