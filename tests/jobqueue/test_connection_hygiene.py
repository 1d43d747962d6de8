"""Q32: whatever a handler does to its connection, its outcome is recorded and the next job finds a clean one."""

from collections.abc import Iterator

import pytest
from django.db import connection, connections

from jobqueue.sign_of_life import LOCK_CLASS
from jobqueue.worker.connection_hygiene import drop_connection
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants
from tests.testjobs.misbehaviour import LEAVE


def test_nothing_that_a_handler_leaves_on_its_connection_reaches_the_next_job(both: BothTenants, start: Start) -> None:
    untouched = both.enqueue("test.look", priority=100)
    leaving, looking = {}, {}
    for number, kind in enumerate(LEAVE):
        leaving[kind] = both.enqueue("test.leave", {"kind": kind}, priority=50 - 2 * number)
        looking[kind] = both.enqueue("test.look", priority=49 - 2 * number)
    worker = start("--concurrency", "1")  # one thread, one connection, one job after the other

    for kind in LEAVE:
        leaving[kind].become("succeeded")
        looking[kind].become("succeeded")
        assert leaving[kind].are(attempts=1), kind
        for row, clean, tenant in zip(looking[kind].rows(), untouched.rows(), TENANTS, strict=True):
            assert row.result == clean.result, kind
            assert row.result["search_path"].split(", ")[0] == tenant
    for row in untouched.rows():
        assert row.result["user"] == "postgres"
        assert row.result["timezone"] == "UTC"
        assert row.result["autocommit"] is True
        assert (row.result["in_transaction"], row.result["timeout"]) == (False, "0")
        assert {row.result[name] for name in ("locks", "temporary", "channels", "cursors")} == {0}
    assert len({entry["pid"] for entries in both.events(untouched) for entry in entries}) == 1

    # Not at once: the dispatcher may just be in the middle of a visit.
    eventually(lambda: backends("state LIKE 'idle in transaction%%'") == 0, what="no transaction is left open")
    assert advisory_locks_but_signs_of_life() == 0
    assert worker.terminate() == 0


def test_a_connection_that_the_server_ended_between_two_jobs_costs_no_attempt(both: BothTenants, start: Start) -> None:
    """After a restart, say: Django would notice at the handler's first statement, which fails."""
    worker = start("--concurrency", "3")
    both.a_canary_passes()
    washed = "state = 'idle' AND query LIKE '%%TimeZone%%'"  # the last thing that is done to it between two jobs
    idle = eventually(lambda: backends(washed), what="a thread's connection waits for the next job")
    assert idle == end_backends(washed)

    jobs = [both.enqueue("test.ok") for _ in range(3)]

    for twins in jobs:
        twins.become("succeeded")
        assert twins.are(attempts=1)
    assert worker.terminate() == 0


def backends(condition: str) -> int:
    """Count the other sessions on the test database for which the condition holds."""
    return _count("count(*)", _OTHERS + condition)


def end_backends(condition: str) -> int:
    """End the same ones; not in a WHERE, where PostgreSQL would ask it first, of the sessions of all databases."""
    return _count("count(*) FILTER (WHERE pg_terminate_backend(pid, 10000))", _OTHERS + condition)


def advisory_locks_but_signs_of_life() -> int:
    return _count(
        "count(*)",
        f"FROM pg_locks WHERE locktype = 'advisory' AND classid <> {LOCK_CLASS}"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )


_OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "


def _count(what: str, source: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {what} {source}".replace("%%", "%"))
        return int(cursor.fetchone()[0])


@pytest.fixture
def pooled(committed_db: None) -> Iterator[str]:
    """The alias of the test's database as a project has it that uses Django's own pool."""
    alias = "pooled"
    connections.databases[alias] = connection.settings_dict | {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"pool": {"min_size": 1, "max_size": 1}},
    }
    yield alias
    drop_connection(alias)
    connections[alias].close_pool()
    del connections[alias], connections.databases[alias]


def test_a_session_of_the_worker_does_not_go_back_into_a_pool(pooled: str) -> None:
    """It has an advisory lock, LISTEN and time limits, which the next thread would inherit."""
    with connections[pooled].cursor() as cursor:
        cursor.execute("SET lock_timeout = '1s'")
        cursor.execute("SELECT pg_advisory_lock(4711), pg_backend_pid()")
        before = cursor.fetchone()[1]

    drop_connection(pooled)

    with connections[pooled].cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), current_setting('lock_timeout')")
        pid, lock_timeout = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = %s", [before])
        assert (pid != before, lock_timeout, cursor.fetchone()) == (True, "0", (0,))
