"""What scenarios share: connections that fail, servers that can be stopped, and worker processes on them."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.db import connection

from tests.faults.proxy import FaultyConnection
from tests.jobqueue.conftest import both, start  # noqa: F401 - fixtures


@pytest.fixture
def proxy(database_url: str) -> Iterator[FaultyConnection]:
    """A connection to the test's database that can fail."""
    # Not the URL's host name, which is made lower case: a folder's name is not to be changed.
    port = urlsplit(database_url).port or 5432
    proxy = FaultyConnection(port, connection.settings_dict["HOST"] or "127.0.0.1")
    yield proxy
    proxy.close()


@pytest.fixture
def through(database_url: str, proxy: FaultyConnection) -> dict[str, str]:
    """The environment of a program whose every connection to the database goes through the proxy."""
    address = urlsplit(database_url)
    return {"DATABASE_URL": address._replace(netloc=f"{address.username}@127.0.0.1:{proxy.port}").geturl()}
