"""Random walks: the queue against a small model of the five states, compared after each step."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from dms_project.tenancy import use
from jobqueue.exceptions import LockLost, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.walk import Model, QueueWalk
from tests.jobqueue.walk_sign import Sign

SECOND = "second"


@pytest.fixture
def sign(database_url: str) -> Iterator[Sign]:
    QueueWalk.sign = Sign(database_url)
    yield QueueWalk.sign
    QueueWalk.sign.close()


OFTEN = pytest.mark.parametrize("times", [15, pytest.param(150, marks=[pytest.mark.long, pytest.mark.timeout(900)])])


def walk(machine: type[QueueWalk], *, times: int, steps: int) -> None:
    walks = settings(
        max_examples=times, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=walks)


@OFTEN
@pytest.mark.usefixtures("tenant", "sign")
def test_no_sequence_of_verbs_breaks_a_rule(times: int) -> None:
    walk(QueueWalk, times=times, steps=30)


class TwoSessions(QueueWalk):
    """A second session says something about one job and commits later, or doesn't; the first goes on meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.second = Queue(using=SECOND, stale_lock_after=timedelta(seconds=60))
        self.transaction: transaction.Atomic | None = None
        self.then: Callable[[], None] = lambda: None

    def teardown(self) -> None:
        if self.transaction is not None:
            self.end(commits=False)
        super().teardown()

    def begin(self, pk: int, say: Callable[[], object], then: Callable[[Model], None]) -> None:
        """Say something in the second session; ``then`` is what the model does when that commits."""
        self.transaction = transaction.atomic(using=SECOND)
        self.transaction.__enter__()
        try:
            said = say() is not False
        except (LockLost, NotDeadLettered):
            said = False
        if said:
            self.locked = {pk}
            self.then = lambda: then(self.models[pk])
        else:
            self.end(commits=False)

    @precondition(lambda self: self.transaction is None)
    @rule(job=QueueWalk.claims, verb=st.sampled_from(["complete", "fail", "release", "renew", "hold", "progress"]))
    def a_holder_begins(self, job: ProcessingJob, verb: str) -> None:
        held, queue = self.holds(job), self.second
        say, then = {
            "complete": (lambda: queue.complete(job), Model.succeed),
            "fail": (lambda: queue.fail(job, "boom"), lambda model: model.fail(retry=True)),
            "release": (lambda: queue.release([job]) == [job], lambda model: model.give_back("released")),
            "renew": (lambda: bool(queue.renew([job])), Model.renew),
            "hold": (lambda: queue.hold(job), lambda model: None),
            "progress": (lambda: queue.report_progress(job, 50), lambda model: None),
        }[verb]
        if held:  # else it says nothing, and locks nothing
            self.begin(job.pk, say, then)

    @precondition(lambda self: self.transaction is None)
    @rule(pk=QueueWalk.known, verb=st.sampled_from(["cancel", "requeue", "discard"]))
    def a_person_begins(self, pk: int, verb: str) -> None:
        queue = self.second
        say: dict[str, tuple[Callable[[], object], Callable[[Model], Any]]] = {
            "cancel": (lambda: queue.cancel(pk), Model.cancel),
            "requeue": (lambda: queue.requeue_dead_letter(pk), Model.requeue),
            "discard": (lambda: queue.discard(pk), Model.discard),
        }
        self.begin(pk, *say[verb])

    @precondition(lambda self: self.transaction is not None)
    @rule(commits=st.booleans())
    def end(self, commits: bool) -> None:
        assert self.transaction is not None
        transaction.set_rollback(not commits, using=SECOND)
        self.transaction.__exit__(None, None, None)
        self.transaction, self.locked = None, set()
        if commits:
            self.then()


@pytest.fixture
def second_session(committed_db: None) -> Iterator[None]:
    connections.databases[SECOND] = connections.databases["default"]
    yield
    connections[SECOND].close()
    del connections[SECOND]
    del connections.databases[SECOND]


@OFTEN
@pytest.mark.usefixtures("second_session", "sign")
def test_no_two_sessions_that_interleave_break_a_rule(times: int) -> None:
    with use("acme"):
        walk(TwoSessions, times=times, steps=40)
