"""Django's migrate, for ``public`` and every tenant's schema."""

import sys
from importlib import import_module
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser, no_translations
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.exceptions import AmbiguityError, InconsistentMigrationHistory
from django.db.migrations.migration import Migration
from django.db.migrations.state import ProjectState
from django.utils.module_loading import module_has_submodule

from dms_project.tenancy.context import use
from dms_project.tenancy.exceptions import TenancyError, reason
from dms_project.tenancy.locks import schema_lock
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.names import PUBLIC, listed
from dms_project.tenancy.postgresql.base import DatabaseWrapper
from dms_project.tenancy.rollout import Step, plan_rollout
from dms_project.tenancy.routers import lives_in


class Command(migrate.Command):
    help = "Migrates public, then every tenant; stops at the first failure, and goes on from there when run again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", metavar="NAME", help="Migrate this schema alone; public is one, too.")

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except OperationalError as error:
            raise CommandError(f"The database can't be reached: {reason(error)}") from error

    @no_translations
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if not isinstance(connection, DatabaseWrapper):
            super().handle(*args, **options)  # a database without tenants
            return
        if options["prune"]:
            raise CommandError(
                "--prune is not available for many schemas: delete the rows of django_migrations by SQL."
            )
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
        if app_label is not None:
            _check_app(app_label, options["run_syncdb"])
        try:
            steps = plan_rollout(connection, options["tenant"], app_label, migration_name, self._note_progress)
        except AmbiguityError:
            raise CommandError(f"More than one migration of {app_label!r} begins with {migration_name!r}.") from None
        except KeyError:
            raise CommandError(f"No migration of {app_label!r} begins with {migration_name!r}.") from None
        except (TenancyError, InconsistentMigrationHistory) as error:
            raise CommandError(str(error)) from error
        if not steps:
            raise CommandError(f"App {app_label!r} has no tables in {options['tenant']!r}.")
        return steps

    def _migrate(self, connection: DatabaseWrapper, steps: list[Step], options: dict[str, Any]) -> None:
        for position, step in enumerate(steps):
            self.running = None
            try:
                self._run(connection, step, options)
            except Exception as error:
                # Whatever a migration raises: the operator must learn where the fleet stands.
                raise CommandError(self._stopped(steps, position, error)) from error
        if self.verbosity >= 1 and not any(step.is_due for step in steps):
            self._say_nothing_to_do(steps)

    def _run(self, connection: DatabaseWrapper, step: Step, options: dict[str, Any]) -> None:
        name, migrator = step.schema_name, step.migrator
        if migrator is None:
            raise TenancyError(f"its schema is missing; restore it, or run: manage.py tenant delete {name}")
        # With nothing to apply, receivers of post_migrate are run where Django's users expect it, and where a person
        # asks for it; in every tenant they would cost some thirty statements each.
        if not (step.is_due or name == PUBLIC or options["tenant"] or options["run_syncdb"]):
            return
        if step.is_due and self.verbosity >= 1:
            self.stdout.write(self.style.MIGRATE_HEADING(f"{name}:"))
        if options["run_syncdb"]:
            self._sync(connection, name, migrator, options["app_label"])
        migrator.run(
            name,
            fake=options["fake"],
            fake_initial=options["fake_initial"],
            verbosity=self.verbosity,
            interactive=options["interactive"],
            stdout=self.stdout,
        )

    def _sync(self, connection: DatabaseWrapper, name: str, migrator: Migrator, app_label: str | None) -> None:
        """Create the tables of apps without migrations."""
        labels = {
            label
            for label in migrator.executor.loader.unmigrated_apps
            if lives_in(label, name) and app_label in (None, label)
        }
        if labels:
            with use(name):
                self.sync_apps(connection, labels)

    def _report(self, steps: list[Step], options: dict[str, Any]) -> None:
        """Say what is due, for --check and --plan; schemas with the same plan are listed together."""
        if missing := [step.schema_name for step in steps if step.migrator is None]:
            raise CommandError(f"The schema is missing of {listed(missing)}: restore it, or delete the tenant.")
        plans: dict[Migrator, list[str]] = {}
        for step in steps:
            if step.migrator is not None and step.is_due:
                plans.setdefault(step.migrator, []).append(step.schema_name)
        for migrator, names in plans.items():
            self.stdout.write(self.style.MIGRATE_HEADING(f"{listed(names)}:"))
            for migration, backwards in migrator.plan:
                self.stdout.write(f"  {'unapply ' if backwards else ''}{migration}")
                for operation in migration.operations if options["plan"] else ():
                    message, is_error = self.describe_operation(operation, backwards)
                    self.stdout.write(f"    {message}", self.style.WARNING if is_error else None)
        if not plans:
            self._say_nothing_to_do(steps)
        elif options["check_unapplied"]:
            sys.exit(1)

    def _say_nothing_to_do(self, steps: list[Step]) -> None:
        if self.verbosity < 1:
            return
        self.stdout.write(f"No migrations to apply; schemas: {len(steps)}.")
        loader = next(step.migrator.executor.loader for step in steps if step.migrator)
        detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
        if changes := detector.changes(graph=loader.graph):
            self.stdout.write(
                self.style.NOTICE(
                    f"Models changed without a migration in: {listed(sorted(changes))}. Run makemigrations."
                )
            )

    def _say_that_we_wait(self) -> None:
        self.stderr.write("Waiting: somebody else is migrating, creating or deleting tenants in this database.")

    def _stopped(self, steps: list[Step], position: int, error: Exception) -> str:
        where = steps[position].schema_name + (f", {self.running}" if self.running else "")
        done = [step.schema_name for step in steps[:position]]
        left = [step.schema_name for step in steps[position + 1 :]]
        return (
            f"Stopped at {where}: {reason(error)}\n"
            f"Migrated: {listed(done)}. Not reached: {listed(left)}. Fix the cause and run the same command again."
        )

    def _note_progress(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        if action in ("apply_start", "unapply_start"):
            self.running = migration
        self.migration_progress_callback(action, migration, fake)


def _check_app(app_label: str, run_syncdb: bool) -> None:
    try:
        config = apps.get_app_config(app_label)
    except LookupError as error:
        raise CommandError(str(error)) from None
    if module_has_submodule(config.module, "migrations") == run_syncdb:
        raise CommandError(
            f"App {app_label!r} has migrations: leave out --run-syncdb."
            if run_syncdb
            else f"App {app_label!r} has no migrations."
        )


def _import_signal_receivers() -> None:
    """Import each app's management package, where receivers of the migrate signals may be registered."""
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, "management"):
            import_module(".management", config.name)
