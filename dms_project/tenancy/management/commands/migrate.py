"""Django's migrate, for ``public`` and every tenant's schema."""

import sys
from argparse import ArgumentParser
from importlib import import_module
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, no_translations
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.exceptions import AmbiguityError, InconsistentMigrationHistory
from django.db.migrations.migration import Migration
from django.db.migrations.state import ProjectState
from django.utils.module_loading import module_has_submodule

from dms_project.tenancy.context import use
from dms_project.tenancy.exceptions import TenancyError
from dms_project.tenancy.locks import schema_lock
from dms_project.tenancy.names import PUBLIC
from dms_project.tenancy.postgresql.base import DatabaseWrapper
from dms_project.tenancy.rollout import Step, plan_rollout
from dms_project.tenancy.routers import lives_in


class Command(migrate.Command):
    help = "Brings public and all tenants' schemas to a migration; stops at the first that fails, and can be run again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", metavar="NAME", help="Migrate this schema alone; public is one, too.")

    @no_translations
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if not isinstance(connection, DatabaseWrapper):
            super().handle(*args, **options)  # a database without tenants
            return
        if options["prune"]:
            raise CommandError("--prune would forget migrations in all schemas at once: delete the rows by SQL.")
        self.verbosity = options["verbosity"]
        self.running: Migration | None = None
        _import_signal_receivers()
        if options["plan"] or options["check_unapplied"]:
            self._report(self._plan(connection, options), options)
            return
        with schema_lock(connection, self._say_that_we_wait):
            self._migrate(connection, self._plan(connection, options), options)

    def _plan(self, connection: DatabaseWrapper, options: dict[str, Any]) -> list[Step]:
        app_label, migration_name = options["app_label"], options["migration_name"]
        self._check_app_label(app_label)
        try:
            steps = plan_rollout(connection, options["tenant"], app_label, migration_name, self._note_progress)
        except AmbiguityError:
            raise CommandError(f"More than one migration of {app_label} begins with {migration_name!r}.") from None
        except KeyError:
            raise CommandError(f"No migration of {app_label} begins with {migration_name!r}.") from None
        except (TenancyError, InconsistentMigrationHistory) as error:
            raise CommandError(str(error)) from error
        if not steps:
            raise CommandError(f"App {app_label!r} has no tables in {options['tenant']!r}.")
        return steps

    def _check_app_label(self, app_label: str | None) -> None:
        if app_label is None:
            return
        try:
            config = apps.get_app_config(app_label)
        except LookupError as error:
            raise CommandError(str(error)) from None
        if not module_has_submodule(config.module, "migrations"):
            raise CommandError(f"App {app_label!r} does not have migrations.")

    def _migrate(self, connection: DatabaseWrapper, steps: list[Step], options: dict[str, Any]) -> None:
        for position, step in enumerate(steps):
            self.running = None
            try:
                self._run(connection, step, options)
            except Exception as error:
                # Whatever a migration raises: the others are not touched, and the operator is told where it stopped.
                raise CommandError(self._stopped(steps, position, error)) from error
        if self.verbosity >= 1 and not any(step.is_due for step in steps):
            self.stdout.write(f"No migrations to apply in {_count(steps)}.")
            self._mention_missing_migrations(steps)

    def _run(self, connection: DatabaseWrapper, step: Step, options: dict[str, Any]) -> None:
        if step.migrator is None:
            raise TenancyError(
                f"its schema doesn't exist; restore it, or run: manage.py tenant delete {step.schema_name}"
            )
        # Receivers of post_migrate cost a tenant some 30 statements: only where something was migrated, or was asked for.
        if not (step.is_due or step.schema_name == PUBLIC or options["tenant"] or options["run_syncdb"]):
            return
        if options["run_syncdb"]:
            self._create_unmigrated(connection, step)
        if step.is_due and self.verbosity >= 1:
            self.stdout.write(self.style.MIGRATE_HEADING(f"{step.schema_name}:"))
        step.migrator.run(
            step.schema_name,
            fake=options["fake"],
            fake_initial=options["fake_initial"],
            verbosity=self.verbosity,
            interactive=options["interactive"],
            stdout=self.stdout,
        )

    def _create_unmigrated(self, connection: DatabaseWrapper, step: Step) -> None:
        assert step.migrator is not None  # noqa: S101 - for the type checker: _run() has looked
        unmigrated = step.migrator.executor.loader.unmigrated_apps
        labels = {label for label in unmigrated if lives_in(label, step.schema_name)}
        if labels:
            with use(step.schema_name):
                self.sync_apps(connection, labels)

    def _report(self, steps: list[Step], options: dict[str, Any]) -> None:
        """Say what is due, for --check and --plan; schemas with the same plan are listed together."""
        due = [step for step in steps if step.is_due]
        missing = [step.schema_name for step in due if step.migrator is None]
        if missing:
            raise CommandError(f"No schema in the database for: {_names(missing)}.")
        if not due:
            if self.verbosity >= 1:
                self.stdout.write(f"No migrations to apply in {_count(steps)}.")
            return
        for migrator in dict.fromkeys(step.migrator for step in due):
            names = [step.schema_name for step in due if step.migrator is migrator]
            assert migrator is not None  # noqa: S101 - for the type checker: without the missing ones
            self.stdout.write(self.style.MIGRATE_HEADING(f"{_names(names)}:"))
            for migration, backwards in migrator.plan:
                self.stdout.write(f"  {'unapply ' if backwards else ''}{migration}")
                for operation in migration.operations if options["plan"] else ():
                    message, is_error = self.describe_operation(operation, backwards)
                    self.stdout.write("    " + message, self.style.WARNING if is_error else None)
        if options["check_unapplied"]:
            sys.exit(1)

    def _stopped(self, steps: list[Step], position: int, error: Exception) -> str:
        name = steps[position].schema_name
        where = f"{name}, {self.running}" if self.running else name
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        before = [step.schema_name for step in steps[:position]]
        after = [step.schema_name for step in steps[position + 1 :]]
        return (
            f"Stopped at {where}: {reason}\n"
            f"Up to date: {_names(before)}. Not reached: {_names(after)}. Fix the cause and run the same command again."
        )

    def _note_progress(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        if action in ("apply_start", "unapply_start"):
            self.running = migration
        self.migration_progress_callback(action, migration, fake)

    def _say_that_we_wait(self) -> None:
        self.stderr.write("Somebody else is migrating, creating or deleting tenants in this database: waiting.")

    def _mention_missing_migrations(self, steps: list[Step]) -> None:
        loader = next(step.migrator.executor.loader for step in steps if step.migrator)
        detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
        if changes := detector.changes(graph=loader.graph):
            self.stdout.write(
                self.style.NOTICE(
                    f"Models of {', '.join(sorted(changes))} have changes without a migration: "
                    "run 'manage.py makemigrations'."
                )
            )


def _import_signal_receivers() -> None:
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, "management"):
            import_module(".management", config.name)


def _count(steps: list[Step]) -> str:
    return f"{len(steps)} schema{'s' if len(steps) != 1 else ''}"


def _names(names: list[str], limit: int = 20) -> str:
    shown = ", ".join(names[:limit]) or "none"
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
