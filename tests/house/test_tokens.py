"""API tokens: shown once, kept as a hash, worth something in one tenant, and gone when revoked."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken, digest

TENANTS = ("acme", "globex")


@pytest.fixture
def user(tenant: str) -> User:
    return User.objects.create_user("ada", password="correct horse")


@pytest.fixture
def client(tenant: str) -> Client:
    return Client(headers={"host": f"{tenant}.localhost"}, enforce_csrf_checks=True)


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def test_a_token_opens_the_api_for_its_user(client: Client, user: User) -> None:
    _, token = ApiToken.objects.issue(user, "test")
    assert client.get("/api/documents", **bearer(token)).status_code == 200


def test_a_token_is_worthless_in_another_tenant(client: Client, user: User, tenant: str) -> None:
    _, token = ApiToken.objects.issue(user, "test")
    (other,) = set(TENANTS) - {tenant}
    foreign = Client(headers={"host": f"{other}.localhost"})
    assert foreign.get("/api/documents", **bearer(token)).status_code == 401


def test_only_its_hash_is_kept(user: User) -> None:
    row, token = ApiToken.objects.issue(user, "test")
    kept = ApiToken.objects.values().get()
    assert token not in map(str, kept.values())
    assert row.sha256 == digest(token)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer dms_unknown", "bearer dms_ü"])
def test_a_wrong_token_is_refused_even_beside_a_good_session(header: str, client: Client, user: User) -> None:
    client.force_login(user)
    refused = client.get("/api/documents", headers={"Authorization": header})
    assert refused.status_code == 401
    assert set(refused.json()) == {"detail"}


def test_without_any_login_the_answer_is_401_for_reading_and_writing(client: Client) -> None:
    assert client.get("/api/documents").status_code == 401
    assert client.post("/api/documents").status_code == 401


def test_a_session_reads_and_writes_only_with_its_csrf_token(client: Client, user: User) -> None:
    client.force_login(user)
    assert client.get("/api/documents").status_code == 200
    assert client.post("/api/documents").status_code == 403


@pytest.mark.parametrize("how", ["revoked", "inactive user"])
def test_a_token_ends_when_it_is_revoked_or_its_user_inactive(how: str, client: Client, user: User) -> None:
    row, token = ApiToken.objects.issue(user, "test")
    if how == "revoked":
        assert row.revoke()
        assert not row.revoke()
    else:
        User.objects.update(is_active=False)
    assert client.get("/api/documents", **bearer(token)).status_code == 401


def test_its_use_is_noted_but_not_at_every_request(client: Client, user: User) -> None:
    row, token = ApiToken.objects.issue(user, "test")
    client.get("/api/documents", **bearer(token))
    row.refresh_from_db()
    first = row.last_used_at
    assert first is not None

    ApiToken.objects.update(last_used_at=Now() - timedelta(minutes=5))
    row.refresh_from_db()
    recent = row.last_used_at
    client.get("/api/documents", **bearer(token))
    row.refresh_from_db()
    assert row.last_used_at == recent

    ApiToken.objects.update(last_used_at=Now() - timedelta(minutes=15))
    client.get("/api/documents", **bearer(token))
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert row.last_used_at >= first


def test_an_authorization_header_is_never_logged(client: Client, user: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for header in ("Bearer dms_secret", "Token dms_secret", "dms_secret"):
        client.get("/api/documents", headers={"Authorization": header})
    assert "dms_secret" not in caplog.text


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("token", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_issues_lists_and_revokes(client: Client, user: User, tenant: str) -> None:
    token = run("create", "--tenant", tenant, "--user", "ada", "--label", "scanner").strip()
    assert client.get("/api/documents", **bearer(token)).status_code == 200

    listed = run("list", "--tenant", tenant)
    assert token not in listed
    found = re.fullmatch(r"(\d+)  ada  scanner  active  last used \d{4}-\d\d-\d\d \d\d:\d\d\n", listed)
    assert found

    assert run("revoke", found[1], "--tenant", tenant) == "Revoked.\n"
    assert run("revoke", found[1], "--tenant", tenant) == "It was revoked already.\n"
    assert client.get("/api/documents", **bearer(token)).status_code == 401


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--tenant", "nobody"], "There is no tenant 'nobody'"),
        (["create", "--tenant", "acme", "--user", "nobody"], "acme has no active user 'nobody'"),
        (["revoke", "7", "--tenant", "acme"], "acme has no token 7"),
        (["create", "--tenant", "acme", "--user", "ada", "--label", "x" * 101], "The label can't be used: .*100 char"),
        (["create", "--tenant", "acme", "--user", "ada", "--label", ""], "The label can't be used: .*blank"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(arguments: list[str], message: str) -> None:
    with use("acme"):
        User.objects.create_user("ada")
    with pytest.raises(CommandError, match=message) as error:
        run(*arguments)
    assert "\n" not in str(error.value)


def test_the_admin_shows_and_revokes_but_neither_adds_nor_changes(tenant: str) -> None:
    admin = User.objects.create_superuser("root", password="correct horse")
    row, _ = ApiToken.objects.issue(admin, "test")
    client = Client(headers={"host": f"{tenant}.localhost"})
    client.force_login(admin)
    pages = "/admin/tokens/apitoken/"

    assert row.sha256 not in client.get(f"{pages}{row.pk}/change/").content.decode()
    assert client.get(f"{pages}add/").status_code == 403
    assert client.post(f"{pages}{row.pk}/change/", {"label": "forged"}).status_code == 403

    client.post(pages, {"action": "revoke", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.revoked_at is not None
    assert row.label == "test"


@pytest.mark.django_db
def test_operators_have_tokens_of_their_own_schema() -> None:
    operator = User.objects.create_user("operator")
    _, token = ApiToken.objects.issue(operator, "test")
    for tenant in TENANTS:
        with use(tenant):
            assert ApiToken.objects.owner(token) is None
    assert ApiToken.objects.owner(token) == operator
