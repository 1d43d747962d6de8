"""What makes a command of Django's one that works in a tenant's schema."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from dms_project.tenancy.context import use
from dms_project.tenancy.exceptions import TenantNotFound, reason
from dms_project.tenancy.names import PUBLIC


class InOneSchema(BaseCommand):
    """Stands before the command's own class, and adds ``--tenant``."""

    requires_migrations_checks = False  # Django would miss the migrations of apps that live elsewhere

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", default=PUBLIC, metavar="NAME", help="Of this tenant; without it, an operator.")

    def execute(self, *args: Any, **options: Any) -> str | None:
        tenant = options["tenant"]
        try:
            with use(tenant):
                return super().execute(*args, **options)
        except TenantNotFound as error:
            raise CommandError(f"There is no tenant {tenant!r}. See: manage.py tenant list") from error
        except EOFError as error:
            raise CommandError("This needs a terminal, to ask for what isn't given. Nothing was changed.") from error
        except ProgrammingError as error:
            raise CommandError(f"{tenant} lacks a table ({reason(error)}). Run: manage.py migrate") from error
