"""What the models are between the operations of a plan: worked out once, in however many schemas it is carried out.

Django works it out anew each time, which takes several times as long as the SQL.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.migration import Migration
from django.db.migrations.operations import RunPython
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

# Of the latest plan that begins with nothing: a process may make many tenants.
_from_nothing: dict[Hashable, "States"] = {}


class States:
    """The states through which a plan leads; forwards only.

    Args:
        plan: Its migrations.
        start: The state before, with its models rendered. It is left as it is.
    """

    def __init__(self, plan: Sequence[Migration], start: ProjectState) -> None:
        state = start.clone()
        self._states = [state.clone()]
        for migration in plan:
            for operation in migration.operations:
                operation.state_forwards(migration.app_label, state)
                self._states.append(state.clone())
        end = self._states[-1]
        end.clear_delayed_apps_cache()
        self._end = _Unchanging(end)

    @classmethod
    def of(cls, plan: Sequence[Migration], start: ProjectState) -> "States":
        """Return the states of a plan, known ones if it begins with nothing."""
        if start.models:
            return cls(plan, start)
        key = tuple(type(migration) for migration in plan), _count_operations(plan)
        if key not in _from_nothing:
            _from_nothing.clear()
            _from_nothing[key] = cls(plan, start)
        return _from_nothing[key]

    def fit(self, plan: Sequence[Migration]) -> bool:
        """Return whether there is one before and one after each operation."""
        return len(self._states) == _count_operations(plan) + 1

    @contextmanager
    def given_to(self, plan: Sequence[Migration]) -> Iterator[ProjectState]:
        """Let the plan's operations take their states from here.

        Yields:
            What to call the executor with meanwhile; its ``apps`` are those at the end of the plan.
        """
        operations = [migration.operations for migration in plan]
        pairs = zip(self._states[:-1], self._states[1:], strict=True)
        try:
            for migration in plan:
                given = [_with_states(operation, *next(pairs)) for operation in migration.operations]
                migration.operations = given  # type: ignore[misc]  # an instance has its own list
            yield self._end
        finally:
            for migration, original in zip(plan, operations, strict=True):
                migration.operations = original  # type: ignore[misc]


def _count_operations(plan: Sequence[Migration]) -> int:
    return sum(len(migration.operations) for migration in plan)


def _with_states(operation: Operation, before: ProjectState, after: ProjectState) -> Operation:
    given: Any = copy(operation)
    given.state_forwards = _stay
    given.database_forwards = partial(_forwards, operation, before, after)
    return given  # type: ignore[no-any-return]


def _stay(app_label: str, state: ProjectState) -> None:
    """Work out nothing."""


def _forwards(
    operation: Operation,
    before: ProjectState,
    after: ProjectState,
    app_label: str,
    schema_editor: BaseDatabaseSchemaEditor,
    *placeholders: ProjectState,
) -> None:
    operation.database_forwards(app_label, schema_editor, before, after)
    if isinstance(operation, RunPython):
        before.is_delayed = False  # it has rendered all models: need not be done again


class _Unchanging(ProjectState):
    """A state that stays what it is, whatever is carried out."""

    def __init__(self, state: ProjectState) -> None:
        super().__init__(state.models, state.real_apps)
        self.__dict__["apps"] = state.apps

    def clone(self) -> ProjectState:
        return self
