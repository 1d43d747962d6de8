"""Sessions, tokens and caches where everything in two tenants has the same numbers and the same passwords (T13)."""

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken

HOSTS = {"acme": "acme.localhost", "globex": "globex.localhost"}
PASSWORD = "one password for both"


@pytest.fixture
def twins(db: None) -> dict[str, Client]:
    """Ada in both tenants: the same id, the same hash of her password, logged in at both."""
    browsers = {}
    cache.clear()
    for tenant, host in HOSTS.items():
        with use(tenant):
            User.objects.create(
                pk=1, username="ada", password="md5$salt$2a5a4c0b7d7e5ee0f6b1f5d3c1cf5d33", is_staff=True
            )
            browsers[tenant] = Client(headers={"host": host})
            browsers[tenant].force_login(User.objects.get())
    return browsers


def test_a_cookie_of_one_is_none_at_the_other_though_it_stands_for_the_same_number(twins: dict[str, Client]) -> None:
    at_globex = Client(headers={"host": HOSTS["globex"]})
    at_globex.cookies = twins["acme"].cookies
    assert twins["acme"].get("/").status_code == 200
    assert at_globex.get("/").status_code == 302
    assert at_globex.get("/admin/").status_code == 302
    assert at_globex.get("/api/documents").status_code == 401


def test_logging_out_of_one_is_not_logging_out_of_the_other(twins: dict[str, Client]) -> None:
    twins["acme"].post("/logout/")
    assert twins["acme"].get("/").status_code == 302
    assert twins["globex"].get("/").status_code == 200


def test_another_password_at_one_ends_no_session_at_the_other(twins: dict[str, Client]) -> None:
    with use("acme"):
        ada = User.objects.get()
        ada.set_password(PASSWORD)
        ada.save()
    assert twins["acme"].get("/").status_code == 302
    assert twins["globex"].get("/").status_code == 200


def test_a_token_with_the_same_number_opens_its_own_tenant_alone(twins: dict[str, Client]) -> None:
    tokens = {}
    for tenant in HOSTS:
        with use(tenant):
            tokens[tenant] = ApiToken.objects.issue(User.objects.get(), "scanner")[1]
    for tenant, host in HOSTS.items():
        for whose, token in tokens.items():
            answer = Client(headers={"host": host, "authorization": f"Bearer {token}"}).get("/api/documents")
            assert answer.status_code == (200 if whose == tenant else 401)


def test_every_key_of_the_cache_begins_with_its_tenant(twins: dict[str, Client]) -> None:
    for host in HOSTS.values():
        Client(headers={"host": host}).post("/login/", {"username": "ada", "password": "wrong"})
    keys = list(cache._cache)
    assert {key.partition(":")[0] for key in keys} == set(HOSTS)
    assert len(keys) % 2 == 0
