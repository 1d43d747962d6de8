"""Django's migrate, for ``public`` and every tenant's schema."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from traceback import format_exception
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
from dms_project.tenancy.management.outcome import Failure, Outcome
from dms_project.tenancy.management.progress import Progress
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.names import PUBLIC, listed
from dms_project.tenancy.postgresql.base import DatabaseWrapper
from dms_project.tenancy.processes import Processes
from dms_project.tenancy.rollout import Step, plan_rollout
from dms_project.tenancy.routers import lives_in

#: Of so many tenants each migration is told; of more a bar is drawn, where somebody looks.
_FEW = 10


class Command(migrate.Command):
    help = "Migrates public, then every tenant; stops at the first failure, and goes on from there when run again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--tenant", metavar="NAME", help="Migrate this schema alone; public is one, too.")
        parser.add_argument(
            "--parallel", type=_count, default=1, metavar="N", help="Migrate N tenants at once, each in a process."
        )
        parser.add_argument(
            "--keep-going", action="store_true", help="Go on with the other tenants where one fails, and exit with 1."
        )

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
        self.parallel = options["parallel"]
        self.shows_bar = False
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
        wanted = [step for step in steps if _is_wanted(step, options)]
        outcome = Outcome([step.schema_name for step in steps], {step.schema_name for step in wanted})
        # Public's first: the tenants' migrations may rely on what these have done.
        for part in ([step for step in wanted if step.schema_name == PUBLIC],
                     [step for step in wanted if step.schema_name != PUBLIC]):  # fmt: skip
            self._carry_out(connection, part, outcome, options)
            if outcome.failures:
                raise CommandError(outcome.text(keep_going=options["keep_going"]))
        if self.verbosity < 1:
            return
        if due := sum(step.is_due for step in steps):
            self.stdout.write(f"Migrated; schemas: {due}.")
        else:
            self._say_nothing_to_do(steps)

    def _carry_out(
        self, connection: DatabaseWrapper, steps: list[Step], outcome: Outcome, options: dict[str, Any]
    ) -> None:
        """Migrate these schemas, one after the other or several at once."""
        by_name = {step.schema_name: step for step in steps}
        waiting = deque(by_name)
        bar = Progress(self.stderr)
        bar.total = len(steps)
        self.shows_bar = bar.is_seen and self.verbosity == 1 and len(steps) > _FEW

        def attempt(name: str) -> Failure | None:
            return self._attempt(connection, by_name[name], options)

        for name, failure in self._attempts(attempt, waiting, steps):
            outcome.left.discard(name)
            if self.shows_bar:
                bar.step()
            if failure is not None:
                bar.clear()
                self._note_failure(failure, outcome, options)
                if not options["keep_going"]:
                    waiting.clear()  # what has begun is finished
        bar.clear()

    def _attempts(
        self, attempt: Callable[[str], Failure | None], waiting: deque[str], steps: list[Step]
    ) -> Iterator[tuple[str, Failure | None]]:
        if self.parallel == 1 or len(steps) == 1:
            while waiting:
                name = waiting.popleft()
                yield name, attempt(name)
            return
        for step in steps:
            if step.migrator is not None:
                step.migrator.prepare()  # once for all processes
        for name, result in Processes(self.parallel, lambda name: (attempt(name),)).run(waiting):
            failure = Failure(name, "", "the process that was at it died") if result is None else result[0]
            if failure is None and self.verbosity >= 1 and not self.shows_bar:
                self.stdout.write(f"{name}: migrated")
            yield name, failure

    @property
    def _tells_each(self) -> bool:
        """Whether there are lines about each migration; of several processes they would be mixed up."""
        return self.verbosity >= 2 or (self.parallel == 1 and not self.shows_bar)

    def _attempt(self, connection: DatabaseWrapper, step: Step, options: dict[str, Any]) -> Failure | None:
        self.running = None
        try:
            self._run(connection, step, options)
        except Exception as error:  # noqa: BLE001 - whatever a migration raises, the operator must learn who is where
            migration = str(self.running) if self.running else ""
            return Failure(step.schema_name, migration, reason(error), "".join(format_exception(error)))
        return None

    def _note_failure(self, failure: Failure, outcome: Outcome, options: dict[str, Any]) -> None:
        outcome.failures.append(failure)
        if options["traceback"]:
            self.stderr.write(failure.traceback)
        if options["keep_going"]:
            self.stderr.write(f"Failed at {failure}")

    def _run(self, connection: DatabaseWrapper, step: Step, options: dict[str, Any]) -> None:
        name, migrator = step.schema_name, step.migrator
        if migrator is None:
            raise TenancyError(f"its schema is missing; restore it, or run: manage.py tenant delete {name}")
        if step.is_due and self._tells_each:
            self.stdout.write(self.style.MIGRATE_HEADING(f"{name}:"))
        if options["run_syncdb"]:
            self._sync(connection, name, migrator, options["app_label"])
        migrator.run(
            name,
            fake=options["fake"],
            fake_initial=options["fake_initial"],
            verbosity=self.verbosity if self._tells_each else 0,
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

    def _note_progress(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        if action in ("apply_start", "unapply_start"):
            self.running = migration
        if self._tells_each:
            self.migration_progress_callback(action, migration, fake)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def _is_wanted(step: Step, options: dict[str, Any]) -> bool:
    """Say whether something is to do in a schema.

    With nothing to apply, receivers of post_migrate are run where Django's users expect it, and where a person asks for
    it; in every tenant they would cost some thirty statements each.
    """
    return bool(step.is_due or step.schema_name == PUBLIC or options["tenant"] or options["run_syncdb"])


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
