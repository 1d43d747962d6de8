"""Django's showmigrations, for ``public`` and every tenant's schema."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import showmigrations
from django.db import connections

from dms_project.tenancy.context import use
from dms_project.tenancy.exceptions import TenancyError
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.names import listed
from dms_project.tenancy.postgresql.base import DatabaseWrapper
from dms_project.tenancy.rollout import plan_rollout
from dms_project.tenancy.routers import lives_in


class Command(showmigrations.Command):
    help = "Shows which migrations are applied; schemas in the same state are shown once, together."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", metavar="NAME", help="Show this schema alone; public is one, too.")

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if not isinstance(connection, DatabaseWrapper):
            super().handle(*args, **options)  # a database without tenants
            return
        self.verbosity = options["verbosity"]
        try:
            steps = plan_rollout(connection, options["tenant"])
        except TenancyError as error:
            raise CommandError(str(error)) from error
        states: dict[Migrator | None, list[str]] = {}
        for step in steps:
            states.setdefault(step.migrator, []).append(step.schema_name)
        show = self.show_plan if options["format"] == "plan" else self.show_list
        for migrator, names in states.items():
            self.stdout.write(self.style.MIGRATE_HEADING(f"{listed(names)}:"))
            if migrator is None:
                self.stdout.write(" no schema in the database", self.style.ERROR)
                continue
            labels = options["app_label"] or sorted(migrator.executor.loader.migrated_apps)
            with use(names[0]):
                show(connection, [label for label in labels if lives_in(label, names[0])])
