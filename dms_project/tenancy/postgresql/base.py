"""Django's PostgreSQL backend, which works in the active tenant's schema.

The path is a tenant's own schema and ``extensions``, never ``public``: what is missing in a tenant fails instead of being
found elsewhere. It is applied before a statement runs, and only when the session doesn't have it already, so whatever may
have changed the session's path (a rollback takes a SET back) must make ``_applied`` forget it.
"""

from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base as postgresql
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus

from dms_project.tenancy.context import Activation, activation, current
from dms_project.tenancy.exceptions import CursorOfAnotherTenant, TenantNotFound
from dms_project.tenancy.names import EXTENSIONS, PUBLIC

_PUBLIC_PATH = f"SELECT set_config('search_path', '{PUBLIC}, {EXTENSIONS}', false)"
# One statement looks for the schema and sets the path: PostgreSQL itself accepts a path to a schema that isn't there.
_TENANT_PATH = f"""
    SELECT set_config('search_path', quote_ident(nspname) || ', {EXTENSIONS}', false)
    FROM pg_catalog.pg_namespace WHERE nspname = %s
"""  # noqa: S608 - constants only


class DatabaseWrapper(postgresql.DatabaseWrapper):
    _applied: Activation | None = None
    """The entry into use() whose path this session has; None when that isn't known."""

    def apply_schema(self) -> None:
        """Set the session's search_path to the active schema's, unless it is.

        Raises:
            TenantNotFound: There is no such schema.
        """
        active = activation()
        if self._applied is active:
            return
        if self._transaction_status() == TransactionStatus.INERROR:
            return  # nothing but a rollback works now, and that needs no path
        self._applied = None
        with self.wrap_database_errors, self.connection.cursor() as cursor:
            if active.schema_name == PUBLIC or self.alias == NO_DB_ALIAS:
                cursor.execute(_PUBLIC_PATH)
            elif not cursor.execute(_TENANT_PATH, [active.schema_name]).fetchone():
                raise TenantNotFound(f"There is no schema {active.schema_name!r} in the database.")
        self._applied = active

    # --- what changes a session's path behind our back ---

    def init_connection_state(self) -> None:
        self._applied = None
        super().init_connection_state()

    def close(self) -> None:
        self._applied = None
        super().close()

    def _rollback(self) -> None:
        self._applied = None
        super()._rollback()

    def _savepoint_rollback(self, sid: str) -> None:
        try:
            super()._savepoint_rollback(sid)
        finally:
            self._applied = None

    def _commit(self) -> None:
        # COMMIT of a failed transaction is a rollback, without an error; a COMMIT that fails is one with an error.
        kept = None if self._transaction_status() == TransactionStatus.INERROR else self._applied
        self._applied = None
        super()._commit()
        self._applied = kept

    def _transaction_status(self) -> TransactionStatus:
        return self.connection.info.transaction_status if self.connection else TransactionStatus.UNKNOWN

    def _set_autocommit(self, autocommit: bool) -> None:
        # Before BEGIN rather than after: a rollback leaves it, and SET TRANSACTION must come before any query.
        if not autocommit and self._transaction_status() == TransactionStatus.IDLE:
            self.apply_schema()
        super()._set_autocommit(autocommit)

    # --- cursors ---

    def make_cursor(self, cursor: Any) -> "TenantCursor":
        return TenantCursor(cursor, self)

    def make_debug_cursor(self, cursor: Any) -> "TenantDebugCursor":
        return TenantDebugCursor(cursor, self)


class _BoundToSchema:
    """Apply the active schema before each statement, and refuse to run under another than the cursor was opened under."""

    db: DatabaseWrapper

    def __init__(self, cursor: Any, db: DatabaseWrapper) -> None:
        super().__init__(cursor, db)  # type: ignore[call-arg]  # a mixin for CursorWrapper
        self.schema_name = current()

    def _enter_schema(self) -> None:
        if current() != self.schema_name:
            raise CursorOfAnotherTenant(
                f"This cursor was opened under {self.schema_name!r} and can't be used under {current()!r}: open another."
            )
        self.db.apply_schema()

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().execute(*args, **kwargs)  # type: ignore[misc]  # CursorWrapper's

    def executemany(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().executemany(*args, **kwargs)  # type: ignore[misc]  # CursorWrapper's

    def callproc(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().callproc(*args, **kwargs)  # type: ignore[misc]  # CursorWrapper's

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return self.cursor.copy(*args, **kwargs)  # type: ignore[attr-defined]  # CursorWrapper's

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return self.cursor.stream(*args, **kwargs)  # type: ignore[attr-defined]  # CursorWrapper's


class TenantCursor(_BoundToSchema, CursorWrapper):
    pass


class TenantDebugCursor(_BoundToSchema, postgresql.CursorDebugWrapper):
    pass
