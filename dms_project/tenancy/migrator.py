"""Applying migrations to schemas that have the same ones applied."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from typing import Any

from django.apps import apps
from django.db import Error, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models.signals import post_migrate, pre_migrate
from django.dispatch import Signal

from dms_project.tenancy.context import use
from dms_project.tenancy.exceptions import TenancyError
from dms_project.tenancy.routers import lives_in
from dms_project.tenancy.states import States

#: How long a migration waits for others to leave a table, behind which everybody else has to wait meanwhile.
_WAIT = "5s"
_BRIEFLY = "SELECT set_config('lock_timeout', %s, false) WHERE current_setting('lock_timeout') = '0'"

Target = tuple[str, str | None]
"""An app label and a migration's name, or None for "before the first"."""


class Migrator:
    """One plan, for all schemas of a kind that have the same migrations applied.

    What is expensive (graph, plan, rendered models) is made once, and what a run may change in it is put back.

    Args:
        schema_name: One of the schemas, whose history is read.
        target: Where to; None for the newest migration of each app that lives there.
        progress: As ``MigrationExecutor``'s ``progress_callback``.
    """

    def __init__(
        self,
        connection: BaseDatabaseWrapper,
        schema_name: str,
        app_label: str | None = None,
        migration_name: str | None = None,
        progress: Callable[..., None] | None = None,
    ) -> None:
        self.connection = connection
        with use(schema_name):
            self.executor = MigrationExecutor(connection, progress)
            self.executor.loader.check_consistent_history(connection)
        self.targets = _targets(self.executor.loader, schema_name, app_label, migration_name)
        self.plan: list[tuple[Migration, bool]] = self.executor.migration_plan(self.targets)
        self._states: States | None = None
        for migration, _ in self.plan:
            if not lives_in(migration.app_label, schema_name):
                raise TenancyError(
                    f"{self.plan[-1][0]} depends on {migration}, an app without tables in {schema_name!r}: "
                    f"see TENANCY_PUBLIC_APPS and TENANCY_TENANT_APPS."
                )

    @cached_property
    def _state(self) -> ProjectState:
        # Private, but what Django's own command calls.
        state: ProjectState = self.executor._create_project_state(  # type: ignore[attr-defined]  # not in the stubs
            with_applied_migrations=True
        )
        state.apps  # noqa: B018 - renders the models, which each schema's copy then has already
        return state

    def prepare(self) -> None:
        """Make what all runs share; each would make it else at its first."""
        _ = self._state

    def run(self, schema_name: str, *, fake: bool = False, fake_initial: bool = False, **options: Any) -> None:
        """Carry out the plan in one schema, each migration in a transaction of its own.

        The last one shares its transaction with the receivers of ``post_migrate`` (permissions, content types): a run
        cut off between the two would look complete. Other keyword arguments go to the signals' receivers.
        """
        operations = [(migration, list(migration.operations)) for migration, _ in self.plan]
        with use(schema_name), _brief_waits(self.connection):
            self.executor.recorder = MigrationRecorder(self.connection)  # it remembers whether it saw its table
            try:
                self._send(pre_migrate, schema_name, apps=self._state.apps, **options)
                self._migrate(schema_name, fake, fake_initial, options)
            finally:
                # Receivers of pre_migrate add operations to the plan's migrations, which the next schema uses too.
                for migration, original in operations:
                    migration.operations = original  # type: ignore[misc]  # an instance has its own list

    def _migrate(self, schema_name: str, fake: bool, fake_initial: bool, options: dict[str, Any]) -> None:
        plan = [migration for migration, _ in self.plan]
        if fake or fake_initial or any(backwards for _, backwards in self.plan):
            self._carry_out(schema_name, self._state.clone(), fake, fake_initial, options)
            return
        if self._states is None or not self._states.fit(plan):
            self._states = States.of(plan, self._state)
        with self._states.given_to(plan) as state:
            self._carry_out(schema_name, state, fake, fake_initial, options)

    def _carry_out(
        self, schema_name: str, state: ProjectState, fake: bool, fake_initial: bool, options: dict[str, Any]
    ) -> None:
        last = self.plan[-1:]
        if last and (last[0][1] or not last[0][0].atomic):
            last = []  # backwards, or unable to share a transaction
        if first := self.plan[: len(self.plan) - len(last)]:
            state = self.executor.migrate(self.targets, first, state, fake=fake, fake_initial=fake_initial)
        with transaction.atomic(using=self.connection.alias) if last else nullcontext():
            if last:
                state = self.executor.migrate(self.targets, last, state, fake=fake, fake_initial=fake_initial)
            state.clear_delayed_apps_cache()
            self._send(post_migrate, schema_name, apps=state.apps, **options)

    def _send(self, signal: Signal, schema_name: str, **kwargs: Any) -> None:
        for app_config in apps.get_app_configs():
            if app_config.models_module is not None and lives_in(app_config.label, schema_name):
                signal.send(
                    sender=app_config,
                    app_config=app_config,
                    using=self.connection.alias,
                    plan=self.plan,
                    **({"verbosity": 0, "interactive": False} | kwargs),
                )


@contextmanager
def _brief_waits(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait for no lock for long, unless the session says itself for how long: whoever comes later waits behind us."""
    with connection.cursor() as cursor:
        cursor.execute(_BRIEFLY, [_WAIT])
        ours = cursor.rowcount
    try:
        yield
    finally:
        if ours:
            with suppress(Error), connection.cursor() as cursor:  # the session may be gone
                cursor.execute("RESET lock_timeout")


def _targets(
    loader: MigrationLoader, schema_name: str, app_label: str | None, migration_name: str | None
) -> list[Target]:
    if app_label and migration_name == "zero":
        return [(app_label, None)]
    if app_label and migration_name:
        return [(app_label, loader.get_migration_by_prefix(app_label, migration_name).name)]
    return [key for key in loader.graph.leaf_nodes(app_label) if lives_in(key[0], schema_name)]
