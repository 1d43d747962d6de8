"""What a page shows of how far a document is: its own state and that of its job, in one."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from documents.lifecycle import RECOGNITION_JOB_TYPE
from documents.models import Document
from documents.pages.words import STOPPED, Problem, Words, problem
from documents.processing.findings import StepStatus
from documents.states import DocumentStatus
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus


@dataclass(frozen=True)
class State:
    """``kind`` chooses the colour; ``active``: it will change by itself, so it is worth asking again."""

    kind: str
    label: Words
    active: bool = False
    percent: int | None = None
    problem: Problem | None = None
    job_type: str = ""  # of the job that is waited for


def states_of(documents: Iterable[Document]) -> dict[object, State]:
    """Return the state of each document, by its id. At most one statement, and none if all have ended."""
    documents = list(documents)
    waited_for = [d.job_id for d in documents if d.status == DocumentStatus.PROCESSING and d.job_id]
    jobs = (
        ProcessingJob.objects.only("job_type", "status", "attempts", "progress").in_bulk(waited_for)
        if waited_for
        else {}
    )
    return {document.pk: _state(document, jobs.get(document.job_id or 0)) for document in documents}


def state_of(document: Document) -> State:
    """Return the state of one document."""
    return states_of([document])[document.pk]


def _state(document: Document, job: ProcessingJob | None) -> State:
    if document.status == DocumentStatus.PROCESSING:
        return _of_job(job)
    found = _problem_of(document.steps)
    if document.status == DocumentStatus.READY:
        return State("ready", _("Ready"), problem=found)
    if document.status == DocumentStatus.PARTIAL:
        return State("partial", _("Partly readable"), problem=found)
    if any(step["name"] == "inspect" and step["reason"] == "unsupported" for step in document.steps):
        return State("stored", _("Stored"), problem=found)
    return State("failed", _("Not readable"), problem=found)


def _of_job(job: ProcessingJob | None) -> State:
    if job is None or job.status in (JobStatus.DEAD_LETTER, JobStatus.FAILED):
        return State("failed", _("Not readable"), problem=STOPPED)
    if job.status == JobStatus.PENDING and job.attempts:
        return State("waiting", _("Will be tried again"), active=True, job_type=job.job_type)
    if job.status == JobStatus.PENDING:
        return State("waiting", _("Waiting"), active=True, job_type=job.job_type)
    label = _("Text is being recognised") if job.job_type == RECOGNITION_JOB_TYPE else _("Being read")
    return State("reading", label, active=True, percent=job.progress, job_type=job.job_type)


def _problem_of(steps: list[dict[str, str]]) -> Problem | None:
    """Return the first thing that went wrong or, if nothing did, the first remark of a step.

    A thumbnail that nobody could expect is not worth a word.
    """
    said = [step for step in steps if step["reason"] and (step["name"], step["status"]) != ("thumbnail", "skipped")]
    wrong = [step for step in said if step["status"] != StepStatus.DONE]
    first = next(iter(wrong or said), None)
    return problem(first["reason"], first["name"]) if first else None
