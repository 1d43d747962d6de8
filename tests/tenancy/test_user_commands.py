"""A tenant's first user, and a forgotten password: Django's commands, with ``--tenant``."""

import getpass
import sys
from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from dms_project.tenancy import PUBLIC, use
from tests.conftest import TENANTS

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)


def run(*arguments: str) -> str:
    """Run the command and return all that it said."""
    said = StringIO()
    call_command(*arguments, stdout=said, stderr=said)
    return said.getvalue()


def create(*arguments: str) -> str:
    return run("createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org", *arguments)


def test_a_tenants_first_user_can_work_there_and_is_unknown_elsewhere(tenant: str) -> None:
    with use(PUBLIC):
        said = create("--tenant", tenant)

    assert said == "Superuser created successfully.\n"  # and nothing about migrations of apps that live elsewhere
    client = Client(headers={"host": TENANTS[tenant]})
    assert client.login(username="ada", password=PASSWORD)
    assert client.get("/admin/auth/user/add/").status_code == 200
    for other in {PUBLIC, *TENANTS} - {tenant}:
        with use(other):
            assert not User.objects.exists()


@pytest.mark.django_db
def test_without_a_tenant_it_is_an_operator() -> None:
    assert create() == "Superuser created successfully.\n"
    assert User.objects.get().username == "ada"


def test_a_forgotten_password_is_replaced_in_the_tenant_alone(tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for schema in (PUBLIC, *TENANTS):
        with use(schema):
            User.objects.create_user("ada", password=PASSWORD)
    monkeypatch.setattr(getpass, "getpass", lambda prompt: "another horse, another battery")

    with use(PUBLIC):
        run("changepassword", "ada", "--tenant", tenant)

    for schema in (PUBLIC, *TENANTS):
        with use(schema):
            assert bool(authenticate(username="ada", password=PASSWORD)) == (schema != tenant)


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["createsuperuser", "changepassword"])
def test_what_goes_wrong_is_said_in_one_line(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"^There is no tenant 'nobody'\. See: manage\.py tenant list$"):
        run(command, "--tenant", "nobody")
    with use("acme"):
        User.objects.create_user("ada")
    monkeypatch.setattr(sys, "stdin", StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda prompt: input())
    with pytest.raises(CommandError, match=r"^This needs a terminal"):
        run(command, *(["ada"] if command == "changepassword" else []), "--tenant", "acme")


@pytest.mark.django_db
def test_a_tenant_that_is_not_migrated_is_said_in_one_line() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE acme.auth_user RENAME TO elsewhere")
    with pytest.raises(
        CommandError, match=r'^acme lacks a table \(relation "auth_user" .*\)\. Run: manage\.py migrate$'
    ):
        create("--tenant", "acme")
