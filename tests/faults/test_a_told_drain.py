"""A drain whose every run is told: the checker reads what producers, handlers and tables say, and misses nothing."""

import signal
import time

import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.queue import JobSpec, Queue
from tests.faults.tables import read_rows
from tests.faults.telling import from_events
from tests.faults.verdict import Verdict, verdict
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants
from tests.testjobs import ledger

RETURN = {"how": "return", "online": True, "seconds": 0.02}
RAISE = {"how": "raise", "online": False, "seconds": 0}
MANY = 150
STALE_LOCK_AFTER = 2.0


def enqueue(schema: str) -> None:
    """Enqueue jobs that succeed at once or at the second attempt, and tell."""
    marks = [f"{schema} {number}" for number in range(MANY)]
    ledger.write("enqueueing", schema=schema, batch=schema, marks=dict.fromkeys(marks))
    plans = [[RAISE, RETURN] if number % 10 == 0 else [RETURN] for number in range(MANY)]
    with use(schema):
        Queue().enqueue_many(
            JobSpec("test.work", {"schema": schema, "plan": plan, "mark": mark})
            for plan, mark in zip(plans, marks, strict=True)
        )
    ledger.write("committed", marks=marks)


def test_a_worker_killed_and_one_frozen_for_long_break_no_promise(
    both: BothTenants, start: Start, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ledger.VARIABLE, str(both.ledger_file))
    for schema in TENANTS:
        enqueue(schema)
    workers = {
        name: start("--name", name, "--concurrency", "4", stale_lock_after=STALE_LOCK_AFTER)
        for name in ("killed", "frozen")
    }
    for name in workers:
        ledger.write("worker", name=name)
        eventually(lambda name=name: _runs(both, name) >= 10, what=f"{name} is at work")

    began = time.monotonic()
    workers["frozen"].signal(signal.SIGSTOP)
    workers["killed"].kill()
    ledger.write("worker ended", name="killed", died=True)
    ledger.write("worker", name="fresh")
    workers["fresh"] = start("--name", "fresh", "--concurrency", "4", stale_lock_after=STALE_LOCK_AFTER)
    eventually(lambda: not _left(database_url), within=60, what="the rest is done by another")
    workers["frozen"].signal(signal.SIGCONT)
    ledger.write("fault", kind="frozen", began=began, workers=["frozen"], costs_claims=True)
    assert workers["frozen"].terminate() == workers["fresh"].terminate() == 0

    judged = judge(both, database_url)
    assert judged.clean, str(judged)
    assert judged.summary[0].startswith(f"Enqueued: {2 * MANY} committed")
    assert judged.summary[1] == f"Rows: {2 * MANY} ({2 * MANY} succeeded)."

    with psycopg.connect(database_url) as vandal:
        vandal.execute("DELETE FROM acme.processing_jobs WHERE id = (SELECT min(id) FROM acme.processing_jobs)")
        vandal.execute(
            "UPDATE globex.processing_jobs SET lock_token = gen_random_uuid() "
            "WHERE id = (SELECT min(id) FROM globex.processing_jobs)"
        )
    assert {violation.kind for violation in judge(both, database_url).broken} == {"lost", "torn", "unearned"}


def judge(both: BothTenants, url: str) -> Verdict:
    return verdict(from_events(ledger.read(both.ledger_file), read_rows(url, TENANTS)))


def _runs(both: BothTenants, worker: str) -> int:
    return sum(entry["worker"] == worker for entry in ledger.read(both.ledger_file, "start"))


def _left(url: str) -> bool:
    return any(row.status in ("pending", "processing") for row in read_rows(url, TENANTS))
