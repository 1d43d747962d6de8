"""Every verb in every state: the allowed ones lead where the contract says, the refused ones change nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from jobqueue.exceptions import JobNotFound, LockLost, NoJobAvailable, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, columns

STATES = ["pending", "processing", "succeeded", "dead_letter", "discarded", "cancelled"]

VERBS: dict[str, Callable[[Queue, ProcessingJob], Any]] = {
    "dequeue": lambda queue, job: queue.dequeue("w2"),
    "complete": lambda queue, job: queue.complete(job, {"new": "result"}),
    "fail": lambda queue, job: queue.fail(job, "new error"),
    "fail for good": lambda queue, job: queue.fail(job, "new error", retry=False),
    "report_progress": lambda queue, job: queue.report_progress(job, 50),
    "renew": lambda queue, job: queue.renew([job]) or LockLost,
    "release": lambda queue, job: queue.release([job]) or LockLost,
    "requeue_dead_letter": lambda queue, job: queue.requeue_dead_letter(job.pk),
    "discard": lambda queue, job: queue.discard(job.pk),
    "cancel": lambda queue, job: queue.cancel(job.pk) or False,
}

ALLOWED = {
    ("pending", "dequeue"): "processing",
    ("pending", "cancel"): "failed",
    ("processing", "complete"): "succeeded",
    ("processing", "fail"): "pending",
    ("processing", "fail for good"): "dead_letter",
    ("processing", "report_progress"): "processing",
    ("processing", "renew"): "processing",
    ("processing", "release"): "pending",
    ("processing", "cancel"): "failed",
    ("dead_letter", "requeue_dead_letter"): "pending",
    ("dead_letter", "discard"): "failed",
}
REFUSED = [(state, verb) for state in STATES for verb in VERBS if (state, verb) not in ALLOWED]
# Not refused, and yet nothing changes: the answer to the first COMMIT may have been lost.
REPEATED = ("succeeded", "complete")

REFUSAL: dict[str, Any] = {
    "dequeue": NoJobAvailable,
    "complete": LockLost,
    "fail": LockLost,
    "fail for good": LockLost,
    "report_progress": LockLost,
    "renew": LockLost,
    "release": LockLost,
    "requeue_dead_letter": NotDeadLettered,
    "discard": NotDeadLettered,
    "cancel": False,
}


def answer(verb: str, queue: Queue, job: ProcessingJob) -> Any:
    """Return what the verb says; a refusal is the class of its error."""
    try:
        return VERBS[verb](queue, job)
    except (NoJobAvailable, LockLost, NotDeadLettered) as refusal:
        return type(refusal)


@pytest.mark.parametrize(("state", "verb"), ALLOWED)
def test_an_allowed_verb_leads_to_the_state_that_the_contract_names(
    queue: Queue, jobs: Jobs, state: str, verb: str
) -> None:
    job = getattr(jobs, state)()

    assert answer(verb, queue, job) is not REFUSAL[verb]
    assert queue.status(job.pk) == ALLOWED[state, verb]


@pytest.mark.parametrize(("state", "verb"), REFUSED)
def test_a_refused_verb_says_so_and_changes_nothing(queue: Queue, jobs: Jobs, state: str, verb: str) -> None:
    job = getattr(jobs, state)()
    before = columns(job)

    said = answer(verb, queue, job)

    assert columns(job) == before
    assert said is (None if (state, verb) == REPEATED else REFUSAL[verb])


@pytest.mark.parametrize("missing", [0, -1, 2**62, 2**70])
def test_what_does_not_exist_is_not_found(queue: Queue, missing: int) -> None:
    for verb in (queue.requeue_dead_letter, queue.discard, queue.status):
        with pytest.raises(JobNotFound, match=str(missing)):
            verb(missing)
    assert queue.cancel(missing) is False


@pytest.mark.parametrize("verb", ["complete", "fail", "fail for good", "report_progress", "renew", "release"])
def test_a_job_that_was_deleted_is_lost_to_its_worker(queue: Queue, jobs: Jobs, verb: str) -> None:
    job = jobs.processing()
    ProcessingJob.objects.all().delete()

    assert answer(verb, queue, job) is LockLost
