"""The connection of one of the worker's own loops, which waits long for nothing: a lock, an answer, the loop itself."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import cast

from django.db import Error, InternalError, NotSupportedError, connections, transaction
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg import Connection, Cursor, errors
from psycopg import Error as PsycopgError

from jobqueue.rows.suspects import READ_ONLY
from jobqueue.worker.connection_hygiene import drop_connection
from jobqueue.worker.thread_connections import shut_down

logger = logging.getLogger("jobqueue.worker")

#: How often the worker looks after its loops.
LOOK_SECONDS = 0.25
#: How long a statement of the worker's own waits for a lock: a migration, say, may hold a tenant's table, and all
#: other tenants wait meanwhile.
_LOCK_TIMEOUT = "200ms"
_LONGEST_PATIENCE = timedelta(seconds=30)
#: A statement is prepared when it is asked once more than so often.
_PREPARE_AFTER = 2
#: A loop that has waited for so many times its patience can't be helped.
_HOPELESS = 3

# The patience frees what an unfinished transaction has locked, when nothing comes from us any more. No plan is kept:
# one made while a table was small would be used until it is analysed, however long it has grown. The name is for
# whoever looks into pg_stat_activity.
_BOUNDS = """
SELECT current_setting('transaction_read_only')::boolean, pg_backend_pid(),
       set_config('lock_timeout', %(lock)s, %(local)s),
       set_config('plan_cache_mode', 'force_custom_plan', %(local)s),
       set_config('idle_in_transaction_session_timeout', %(patience)s, %(local)s),
       set_config('application_name', ltrim(current_setting('application_name') || ' jobqueue ' || %(who)s), %(local)s)
"""


class OwnSession:
    """Belongs to one thread, ``look`` to another.

    Args:
        using: The database's alias.
        who: Whose it is, for the log and the server.
        stale_after: The age at which a lock is stale: whoever waits for half of it can still renew afterwards.
        pooled: Whether a pooler may hand each transaction to another session, so that no session is ours to set up.
    """

    def __init__(self, using: str, who: str, stale_after: timedelta, *, pooled: bool) -> None:
        self.using = using
        self._who = who
        self._patience = min(stale_after / 2, _LONGEST_PATIENCE)
        self._pooled = pooled
        self._prepares = True
        #: Of PostgreSQL, which has our latest transaction; a pooler tells a number of its own.
        self.server_process = 0
        self._known: Connection | None = None
        # What the loop is asking, by identity; None: nothing.
        self._asking: object | None = None
        self._seen: object | None = None
        self._looks = 0
        self._outages = 0

    def prepare(self) -> None:
        """Connect if need be, and set the new session up; costs nothing while the session lasts.

        Raises:
            django.db.InternalError: The server takes no writes, and a loop can do nothing without.
        """
        self._asking = object()
        connection = connections[self.using]
        connection.ensure_connection()
        if connection.connection is not self._known:
            if not self._pooled:
                self._let_statements_be_prepared(connection.connection)
                self._set_bounds(local=False)
            self._known = connection.connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction, in which our bounds hold."""
        try:
            with transaction.atomic(self.using):
                if self._pooled:
                    self._set_bounds(local=True)
                yield
        except NotSupportedError:
            # A column has another type than when it was prepared: in a tenant that was migrated, or isn't yet.
            self._prepares = False
            drop_connection(self.using)
            raise

    def bounded(self) -> AbstractContextManager[None]:
        """Let our bounds hold in a block that needs no transaction."""
        return self.transaction() if self._pooled else nullcontext()

    def follow(self, outages: int) -> None:
        """Connect anew if there were outages since the last call: what broke another connection may be a fail-over."""
        if outages != self._outages:
            drop_connection(self.using)
            self._outages = outages

    @property
    def has_asked(self) -> bool:
        """Whether something has been asked since the last rest: only then does the loop know how the database is."""
        return self._asking is not None

    def rest(self) -> None:
        """Note that nothing is being asked for now."""
        self._asking = None

    def _let_statements_be_prepared(self, session: Connection) -> None:
        """Spare the server reading anew what is asked again and again; it plans each time all the same (_BOUNDS)."""
        if self._prepares:
            session.cursor_factory = cast("type[Cursor]", ServerBindingCursor)
            session.prepare_threshold = _PREPARE_AFTER

    def _set_bounds(self, *, local: bool) -> None:
        patience = f"{self._patience.total_seconds() * 1000:.0f}ms"
        with connections[self.using].cursor() as cursor:
            cursor.execute(_BOUNDS, {"lock": _LOCK_TIMEOUT, "patience": patience, "who": self._who, "local": local})
            read_only, self.server_process, *_ = cursor.fetchone()
        if read_only:
            raise InternalError(READ_ONLY)

    def look(self) -> bool:
        """Cut the connection if the loop has been waiting for an answer for too long; to be called every LOOK_SECONDS.

        Counts looks instead of time, which also passes while a handler or the system keeps every thread from running.

        Returns:
            False if the loop has waited so long that it can't be helped.
        """
        asking = self._asking
        self._looks = self._looks + 1 if asking is not None and asking is self._seen else 0
        self._seen = asking
        patience = self._patience.total_seconds() / LOOK_SECONDS
        if max(1, int(patience)) == self._looks:
            self._cut()
        return self._looks < _HOPELESS * patience

    def _cut(self) -> None:
        logger.warning("%s: no answer for %s s; cutting its connection", self._who, self._patience.total_seconds())
        if self._known is None:
            return
        with suppress(OSError, PsycopgError):  # it is closed already
            shut_down(self._known)


def is_of_one_tenant(error: Error) -> bool:
    """Return whether the trouble is that of one tenant's table, and the connection is in order.

    What passes by, a statement that took too long, an index that is corrupted, a limit exceeded.
    """
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return passes_by(error) or state == "57014" or state[:2] in ("54", "XX")


def passes_by(error: Exception) -> bool:
    """Return whether a tenant's table was locked for too long, or the disk is full on which it lies."""
    return isinstance(error.__cause__, errors.LockNotAvailable | errors.DiskFull)
