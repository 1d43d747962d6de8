"""``manage.py token create | list | revoke``: API tokens of one tenant's users."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dms_project.tenancy import TenantNotFound, use
from dms_project.tokens.models import ApiToken


class Command(BaseCommand):
    help = "Issue, list and revoke the API tokens of a tenant's users."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="print a new token, once")
        create.add_argument("--user", required=True)
        create.add_argument("--label", default="command line", help="what the token is for")
        listing = actions.add_parser("list", help="id, user, label and state; never the token itself")
        revoke = actions.add_parser("revoke", help="make a token worthless for good")
        revoke.add_argument("id", type=int)
        for action in (create, listing, revoke):
            action.add_argument("--tenant", required=True, help="whose users (public: the operators)")

    def handle(self, *args: Any, action: str, tenant: str, **options: Any) -> None:
        try:
            with use(tenant):
                getattr(self, f"_{action}")(tenant, **options)
        except TenantNotFound as error:
            raise CommandError(f"There is no tenant {tenant!r}; see `manage.py tenant list`.") from error

    def _create(self, tenant: str, user: str, label: str, **options: Any) -> None:
        owner = User.objects.filter(username=user, is_active=True).first()
        if owner is None:
            raise CommandError(f"{tenant} has no active user {user!r}.")
        try:
            self.stdout.write(ApiToken.objects.issue(owner, label)[1])
        except ValidationError as error:
            raise CommandError(f"The label can't be used: {' '.join(error.messages)}") from error

    def _list(self, tenant: str, **options: Any) -> None:
        for token in ApiToken.objects.select_related("user"):
            state = "revoked" if token.revoked_at else "active"
            used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
            self.stdout.write(f"{token.pk}  {token.user.username}  {token.label}  {state}  last used {used}")

    def _revoke(self, tenant: str, id: int, **options: Any) -> None:
        token = ApiToken.objects.filter(pk=id).first()
        if token is None:
            raise CommandError(f"{tenant} has no token {id}; see `manage.py token list --tenant {tenant}`.")
        self.stdout.write("Revoked." if token.revoke() else "It was revoked already.")
