"""Q40: hosts whose clocks are wrong. What is due, locked, stale or dead is the database's clock's to say."""

import subprocess
import sys
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import ROOT, BothTenants, Twins, environment
from tests.need import need

#: Ten minutes: far longer than any limit that the workers run with.
SKEWS = {"ahead": "+10m", "behind": "-10m"}

ENQUEUE = """
import django
django.setup()
from dms_project.tenancy import use
from jobqueue.queue import Queue
with use("acme"):
    print(Queue().enqueue("test.ok", {}).pk)
"""


def skewed(skew: str) -> dict[str, str]:
    """Return the environment of a program whose clock is wrong."""
    # The monotonic clock is left as it is: the library fakes it only in parts of what Python waits with.
    return {"LD_PRELOAD": faketime_library(), "FAKETIME": SKEWS[skew], "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def faketime_library() -> str:
    """Return the library that the program ``faketime`` preloads, as it says itself."""
    printed = subprocess.run(
        [need("faketime"), "-f", "+1s", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True
    )
    return printed.stdout.strip()


@pytest.mark.parametrize("skew", ["ahead", pytest.param("behind", marks=pytest.mark.long)])
def test_a_worker_whose_clock_is_wrong_is_neither_robbed_nor_a_robber(
    both: BothTenants, start: Start, database_url: str, skew: str
) -> None:
    variables = skewed(skew)
    go = both.ledger_file.with_name("go")
    right = start("--name", "right", "--queue", "right", stale_lock_after=2)
    wrong = start("--name", "wrong", "--queue", "wrong", variables=variables, stale_lock_after=2)

    # Immediate jobs start at once, whoever enqueues and whoever runs them.
    enqueued = subprocess.run(
        [sys.executable, "-c", ENQUEUE], cwd=ROOT, env=environment(database_url, both.ledger_file) | variables,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    with use("acme"):
        ProcessingJob.objects.filter(pk=int(enqueued.stdout)).update(queue_name="right")
    Twins({"acme": int(enqueued.stdout)}).become("succeeded", within=15)
    both.a_canary_passes(queue_name="wrong", within=15)

    # Long jobs of either are renewed, and taken for dead by neither.
    long = [both.enqueue("test.sleep", {"until": str(go)}, queue_name=name) for name in ("right", "wrong")]
    for twins in long:
        both.have_started(twins)
    before = [row.locked_at for twins in long for row in twins.rows()]
    eventually(
        lambda: all(
            row.locked_at - then > timedelta(seconds=4)
            for row, then in zip((row for twins in long for row in twins.rows()), before, strict=True)
        ),
        what="each lock is renewed for twice the stale limit",
    )
    go.touch()
    for twins in long:
        for row in twins.become("succeeded"):
            assert row.attempts == 1
            assert row.started_at is not None
            assert row.finished_at is not None
            assert row.created_at <= row.started_at <= row.finished_at

    # What is due later is due by the database's clock, too.
    with use("acme"):
        job = ProcessingJob.objects.create(
            job_type="test.ok", queue_name="wrong", available_at=Now() + timedelta(seconds=1)
        )
    (late,) = Twins({"acme": job.pk}).become("succeeded", within=15)
    assert late.started_at is not None
    assert late.started_at >= late.available_at
    assert right.terminate() == wrong.terminate() == 0
