"""Django's PostgreSQL backend, working in the active tenant's schema.

The search_path is the tenant's schema and ``extensions``, never ``public``: what a tenant lacks fails instead of being
found elsewhere. It is set before a statement runs, and only if the session hasn't got it already. So whatever may have
changed the session's path behind our back (a rollback takes a SET back, too) must make the connection forget.
"""

from typing import Any

from django.conf import settings
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base as postgresql
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus

from dms_project.tenancy.context import Activation, activation, current
from dms_project.tenancy.exceptions import BehindPooler, CursorOfAnotherTenant, TenantNotFound
from dms_project.tenancy.names import EXTENSIONS, PUBLIC

_PUBLIC_PATH = f"SELECT set_config('search_path', '{PUBLIC}, {EXTENSIONS}', false)"
# No row, no path: PostgreSQL itself accepts a search_path to a schema that doesn't exist.
_TENANT_PATH = f"""
    SELECT set_config('search_path', quote_ident(nspname) || ', {EXTENSIONS}', false)
    FROM pg_catalog.pg_namespace JOIN public.tenants ON schema_name = nspname WHERE nspname = %s
"""  # noqa: S608 - made of constants


class DatabaseWrapper(postgresql.DatabaseWrapper):
    _applied: Activation | None = None
    """The entry into use() whose path the session has; None if nobody knows which it has."""

    def connect(self) -> None:
        """Connect, and refuse a pooler: in transaction mode it hands the session, with its path, to others.

        A pooler is known by the process id that comes with a new connection, to cancel by: it makes one up. Whether
        it keeps the session for us it doesn't tell, so that must be declared.

        Raises:
            BehindPooler: There is one, and ``settings.TENANCY_SESSION_POOLER`` isn't set.
        """
        super().connect()
        if getattr(settings, "TENANCY_SESSION_POOLER", False):
            return
        with self.wrap_database_errors:
            (pid,) = self.connection.execute("SELECT pg_backend_pid()").fetchone()
        if pid != self.connection.info.backend_pid:
            self.close()
            raise BehindPooler(
                "a connection pooler stands before PostgreSQL, which in transaction mode would mix tenants; "
                "connect directly, or set DMS_SESSION_POOLER=true if it is in session mode"
            )

    def apply_schema(self) -> None:
        """Set the session's search_path to the active schema, unless it is set.

        Raises:
            TenantNotFound: There is no such tenant, or it has no schema.
        """
        active = activation()
        if self._applied is active:
            return
        if self._transaction_status() == TransactionStatus.INERROR:
            return  # only a rollback works now, and that needs no path
        self._applied = None
        with self.wrap_database_errors, self.connection.cursor() as cursor:
            if active.schema_name == PUBLIC or self.alias == NO_DB_ALIAS:
                cursor.execute(_PUBLIC_PATH)
            elif not cursor.execute(_TENANT_PATH, [active.schema_name]).fetchone():
                raise TenantNotFound(f"There is no tenant {active.schema_name!r}, or its schema is missing.")
        self._applied = active

    def _transaction_status(self) -> TransactionStatus:
        return self.connection.info.transaction_status if self.connection else TransactionStatus.UNKNOWN

    # --- what changes the session's path behind our back ---

    def init_connection_state(self) -> None:
        self._applied = None
        super().init_connection_state()

    def close(self) -> None:
        self._applied = None
        super().close()

    def _rollback(self) -> None:
        self._applied = None
        super()._rollback()  # type: ignore[misc]  # not in the stubs

    def _savepoint_rollback(self, sid: str) -> None:
        try:
            super()._savepoint_rollback(sid)  # type: ignore[misc]  # not in the stubs
        finally:
            self._applied = None

    def _commit(self) -> None:
        # COMMIT of a failed transaction is a rollback without an error, and a COMMIT that fails is one with an error.
        kept = None if self._transaction_status() == TransactionStatus.INERROR else self._applied
        self._applied = None
        super()._commit()  # type: ignore[misc]  # not in the stubs
        self._applied = kept

    def _set_autocommit(self, autocommit: bool) -> None:
        # Before BEGIN rather than after it: SET TRANSACTION is refused once a query has run.
        if not autocommit and self._transaction_status() == TransactionStatus.IDLE:
            self.apply_schema()
        super()._set_autocommit(autocommit)  # type: ignore[misc]  # not in the stubs

    # --- cursors ---

    def make_cursor(self, cursor: Any) -> "TenantCursor":
        return TenantCursor(cursor, self)

    def make_debug_cursor(self, cursor: Any) -> "TenantDebugCursor":
        return TenantDebugCursor(cursor, self)


class TenantCursor(CursorWrapper):
    """A cursor for the schema it was opened under: it runs nothing under another."""

    db: DatabaseWrapper

    def __init__(self, cursor: Any, db: DatabaseWrapper) -> None:
        super().__init__(cursor, db)
        self.schema_name = current()

    def _enter_schema(self) -> None:
        if current() != self.schema_name:
            raise CursorOfAnotherTenant(
                f"This cursor was opened under {self.schema_name!r} and can't run under {current()!r}: open another."
            )
        self.db.apply_schema()

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().execute(*args, **kwargs)

    def executemany(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().executemany(*args, **kwargs)

    def callproc(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return super().callproc(*args, **kwargs)

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return self.cursor.copy(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return self.cursor.stream(*args, **kwargs)


class TenantDebugCursor(TenantCursor, postgresql.CursorDebugWrapper):
    """The same, and it logs its statements."""

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        self._enter_schema()
        return postgresql.CursorDebugWrapper.copy(self, *args, **kwargs)
