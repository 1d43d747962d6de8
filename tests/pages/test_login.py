"""Logging in and out, and the limit on guessing."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, RequestFactory

from dms_project.logins import throttle
from dms_project.tenancy import use

PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def ada(tenant: str) -> Iterator[None]:
    User.objects.create_superuser("ada", password=PASSWORD)
    for name in ("acme", "globex"):
        with use(name):
            cache.clear()
    yield
    cache.clear()


def log_in(tenant: str, password: str, name: str = "ada", path: str = "/login/", address: str = "192.0.2.1") -> bool:
    """Try to log in with a browser of its own, and say whether that worked."""
    client = Client(headers={"host": f"{tenant}.localhost"}, REMOTE_ADDR=address)
    client.post(path, {"username": name, "password": password})
    return "sessionid" in client.cookies


def fail(tenant: str, times: int = throttle.FAILURES_PER_NAME, **how: str) -> None:
    for number in range(times):
        assert not log_in(tenant, f"guess {number}", **how)


def test_after_a_wrong_password_one_goes_on_with_the_password(tenant: str) -> None:
    client = Client(headers={"host": f"{tenant}.localhost"})
    first, second = client.get("/login/"), client.post("/login/", {"username": "ada", "password": "wrong"})
    focused = [re.findall(r'<input id="(\w+)"[^>]* autofocus', answer.content.decode()) for answer in (first, second)]
    assert focused == [["id_username"], ["id_password"]]


def test_a_login_leads_to_where_one_wanted_to_go(tenant: str) -> None:
    client = Client(headers={"host": f"{tenant}.localhost"})
    form = {"username": "ada", "password": PASSWORD}
    assert client.post("/login/?next=/trash/", {**form, "next": "/trash/"}).url == "/trash/"
    assert client.post("/login/", {**form, "next": "https://example.com/"}).url == "/"


def test_logging_out_ends_the_session_and_takes_a_post(tenant: str) -> None:
    client = Client(headers={"host": f"{tenant}.localhost"})
    client.post("/login/", {"username": "ada", "password": PASSWORD})
    cookie = client.cookies["sessionid"].value
    assert client.get("/logout/").status_code == 405
    assert client.get("/").status_code == 200

    assert client.post("/logout/").url == "/login/"

    client.cookies["sessionid"] = cookie
    assert client.get("/").status_code == 302


def test_after_too_many_failures_the_right_password_is_refused_too_and_the_page_says_why(tenant: str) -> None:
    fail(tenant)

    assert not log_in(tenant, PASSWORD)
    answer = Client(headers={"host": f"{tenant}.localhost"}, REMOTE_ADDR="192.0.2.1").post(
        "/login/", {"username": "ada", "password": PASSWORD}
    )
    assert "Too many failed attempts" in answer.content.decode()


def test_the_admins_login_is_under_the_same_limit(tenant: str) -> None:
    fail(tenant, path="/admin/login/")
    assert not log_in(tenant, PASSWORD, path="/admin/login/")
    assert not log_in(tenant, PASSWORD)


def test_another_address_another_name_and_another_tenant_are_not_locked_out(tenant: str) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    other = "globex" if tenant == "acme" else "acme"
    with use(other):
        User.objects.create_user("ada", password=PASSWORD)
    fail(tenant)

    assert log_in(tenant, PASSWORD, address="192.0.2.2")
    assert log_in(tenant, PASSWORD, name="bob")
    assert log_in(other, PASSWORD)


def test_one_address_may_not_try_all_names(tenant: str) -> None:
    for number in range(throttle.FAILURES_PER_ADDRESS):
        log_in(tenant, "guess", name=f"name {number}")
    assert not log_in(tenant, PASSWORD)
    assert log_in(tenant, PASSWORD, address="192.0.2.2")


def test_a_success_forgets_the_failures_before_it(tenant: str) -> None:
    for _ in range(3):
        fail(tenant, times=throttle.FAILURES_PER_NAME - 1)
        assert log_in(tenant, PASSWORD)


def test_a_lock_ends_by_itself_even_if_somebody_goes_on_trying(tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000.0
    monkeypatch.setattr("django.core.cache.backends.locmem.time.time", lambda: now)
    monkeypatch.setattr("django.core.cache.backends.base.time.time", lambda: now)
    fail(tenant)
    now += throttle.WINDOW.total_seconds() - 1
    fail(tenant, times=1)
    assert not log_in(tenant, PASSWORD)
    now += 2
    assert log_in(tenant, PASSWORD)


def test_the_names_case_makes_no_new_count(tenant: str) -> None:
    fail(tenant, times=3, name="ADA")
    fail(tenant, times=2, name="Ada")
    assert not log_in(tenant, PASSWORD)


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "", "2001:0db8:0001:0002"),
        ("192.0.2.1", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.1", "nonsense, 1.2.3.4", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_who_is_asking(peer: str, header: str, expected: str, settings: object) -> None:
    settings.DMS_CLIENT_ADDRESS_HEADER = "X-Real-IP" if header else ""
    request = RequestFactory().get("/", REMOTE_ADDR=peer, headers={"X-Real-IP": header or "198.51.100.1"})
    assert throttle.client_address(request) == expected
