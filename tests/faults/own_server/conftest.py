"""Here the test's database is on a server of its own; fixtures from outside use that one, too."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from tests.faults.own_server.server import OwnServer


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    server = OwnServer(tmp_path_factory.mktemp("own_server"))
    yield server
    server.remove()


@pytest.fixture
def server(running_server: OwnServer) -> OwnServer:
    running_server.as_it_was()
    return running_server


@pytest.fixture
def database_url(server: OwnServer) -> str:
    return server.url


@pytest.fixture
def committed_db(server: OwnServer, django_db_blocker: Any) -> Iterator[None]:
    """Let the test use the queue on the server of its own."""
    elsewhere = dict(connections.databases["default"])
    server.is_what_the_test_uses()
    with django_db_blocker.unblock():
        yield
        connection.close()
    connections.databases["default"].update(elsewhere)
