"""Migrate, and make the demo tenants with a login and an API token each. Does nothing that is done already.

Passwords and tokens are random in each clone and kept in var/demo.json, which ``make run`` prints.
"""

import json
import os
import secrets
import sys
from pathlib import Path
from typing import TypedDict

import django

from dms_project.env import one_line_errors
from scripts.private_files import write_private

LOGINS = Path("var/demo.json")
TENANTS = ("acme", "globex")
USER = "demo"
OPERATOR = "admin"
LABEL = "make run"  # of the tokens made here


class Login(TypedDict):
    user: str
    password: str
    token: str


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")
    with one_line_errors():
        django.setup()
    from django.core.management import CommandError, call_command
    from django.db import OperationalError

    from dms_project.tenancy import PUBLIC
    from dms_project.tenancy.exceptions import reason

    logins = _logins({PUBLIC: OPERATOR} | dict.fromkeys(TENANTS, USER))
    try:
        call_command("migrate", verbosity=0)
        for schema, login in logins.items():
            _make(schema, login)
    except (CommandError, OperationalError) as error:
        sys.exit(f"error: the database that DATABASE_URL names: {reason(error)}")
    try:
        call_command("documents", "prepare-storage", verbosity=0)
    except CommandError as error:
        sys.exit(f"error: {error}")


def _logins(users: dict[str, str]) -> dict[str, Login]:
    """The login for each schema: made at random in a clone's first run, then read back."""
    from dms_project.tokens.models import new_token

    known: dict[str, Login] = json.loads(LOGINS.read_text()) if LOGINS.exists() else {}
    for schema, user in users.items():
        known.setdefault(schema, {"user": user, "password": secrets.token_urlsafe(9), "token": new_token()})
    write_private(LOGINS, json.dumps(known, indent=2) + "\n")
    return known


def _make(schema: str, login: Login) -> None:
    from django.contrib.auth.models import User

    from dms_project.tenancy import fleet, use
    from dms_project.tenancy.schemas import create_tenant
    from dms_project.tokens.models import ApiToken, digest

    if not fleet.exists(schema):
        create_tenant(schema, domain=f"{schema}.localhost")
    with use(schema):
        if ApiToken.objects.filter(sha256=digest(login["token"])).exists():
            return  # an earlier run of this clone made both
        user, is_new = User.objects.get_or_create(
            username=login["user"], defaults={"is_staff": True, "is_superuser": True}
        )
        if not is_new and not ApiToken.objects.filter(user=user, label=LABEL).exists():
            sys.exit(f"error: {schema} has a user {user} that `make run` didn't make; use another database")
        user.set_password(login["password"])
        user.save()
        ApiToken.objects.create(sha256=digest(login["token"]), user=user, label=LABEL)


if __name__ == "__main__":
    main()
