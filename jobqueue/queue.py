"""The queue: every way to put a job in, take it out, and say how it ended."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, F, QuerySet, When
from django.db.models.functions import Coalesce, Now

from jobqueue import backoff, handlers, tracing
from jobqueue.conf import conf
from jobqueue.error_text import describe
from jobqueue.exceptions import InvalidJob, JobNotFound, NoJobAvailable, NotDeadLettered
from jobqueue.flows import Plan
from jobqueue.json_values import storable_result
from jobqueue.key_policy import IfKnown
from jobqueue.models import (
    IDEMPOTENCY_KEY_MAX_LENGTH,
    NAME_MAX_LENGTH,
    WORKER_NAME_MAX_LENGTH,
    JobFlow,
    PausedQueue,
    ProcessingJob,
)
from jobqueue.rows import claims, completions, dead_letters, fence, flow_steps, maintenance
from jobqueue.rows.claims import Wanted
from jobqueue.rows.completions import Completed
from jobqueue.rows.dead_letters import Decided
from jobqueue.rows.fence import UNLOCKED
from jobqueue.rows.history import with_attempt, with_cancelled_attempt
from jobqueue.rows.insertion import insert_or_find
from jobqueue.rows.suspects import dead_workers_suspected
from jobqueue.specs import CheckedSpec, JobSpec, check_integer, check_names, check_text
from jobqueue.states import JobStatus, Outcome
from jobqueue.wakeup import tell_cancelled_after_commit, wake_after_commit

__all__ = ["JobSpec", "Queue"]


class Queue:
    """The jobs of the active schema in one database. Holds no connection and no state: share it freely.

    Each method joins the caller's transaction if there is one. Times are the database's.

    Args:
        using: Alias of the database.
        stale_lock_after: Age at which a lock counts as left behind by a dead worker; None: the setting.
    """

    def __init__(self, using: str = "default", stale_lock_after: timedelta | None = None) -> None:
        if stale_lock_after is not None and stale_lock_after <= timedelta(0):
            raise ValueError("stale_lock_after must be greater than zero.")
        self.using = using
        self._stale_lock_after = stale_lock_after

    @property
    def stale_lock_after(self) -> timedelta:
        """Age at which a lock counts as left behind by a dead worker."""
        return self._stale_lock_after or conf().stale_lock_after

    # Putting jobs in

    def enqueue(
        self,
        job_type: str,
        payload: dict[str, Any],
        *,
        idempotency_key: str | None = None,
        queue_name: str = "default",
        priority: int = 0,
        available_at: datetime | None = None,
        max_attempts: int | None = None,
        if_known: IfKnown = "return",
        key_while_active: bool = False,
        concurrency_key: str | None = None,
        concurrency_limit: int = 1,
    ) -> ProcessingJob:
        """Add a job, or find the one that has this idempotency key.

        The job exists if and only if the caller's transaction commits.

        Args:
            job_type: What is to be done; a handler of this name does it.
            payload: JSON object, at most ``JOBQUEUE["PAYLOAD_MAX_BYTES"]``; ids rather than data.
            idempotency_key: At most 255 characters. As long as a job with this key exists, whatever its status, no
                second one is made. A concurrent transaction that is enqueueing the key is waited for.
            queue_name: Workers may serve some queues only.
            priority: -100 to 100; higher runs first.
            available_at: Aware; not before then. None or a time past: at once.
            max_attempts: None: the handler's number, or ``JOBQUEUE["MAX_ATTEMPTS"]``.
            if_known: What becomes of a known key. ``"return"``: its job is the answer, as it is. ``"replace"``: a
                pending job becomes the new one, with its id; a running one leaves the key to a new job; a dead letter
                or one that has ended is the answer, as it is. ``"raise"``: ``KeyTaken``.
            key_while_active: True: the key of a job that has ended (succeeded, discarded, cancelled) is free, and goes
                over to the new one. A dead letter has not ended.
            concurrency_key: At most 255 characters; jobs of one tenant that share it are limited together, whatever
                their types and queues. One that has to wait is ``pending`` and holds up no other.
            concurrency_limit: The job starts only while fewer than so many with its key run; 1 to 1000. Give all jobs
                of a key the same.

        Returns:
            The job; ``created`` is False if the key was known.

        Raises:
            InvalidJob: Something can't be stored as asked, or the key belongs to a job of another type.
            KeyTaken: The key is known, and this was asked for.
            django.db.OperationalError: Above READ COMMITTED, a concurrent transaction enqueued the same key.
        """
        spec = JobSpec(
            job_type, payload, idempotency_key, queue_name, priority, available_at, max_attempts, if_known,
            key_while_active, concurrency_key, concurrency_limit,
        )  # fmt: skip
        with tracing.enqueueing([spec]) as sent:
            jobs = insert_or_find(self.using, [spec.checked()])
            sent.is_about(jobs)
        return jobs[0]

    def enqueue_many(self, specs: Iterable[JobSpec]) -> list[ProcessingJob]:
        """Add many jobs by a constant number of statements, all or none.

        Returns:
            One job per spec, in their order; specs with the same key, or a known one, get the same job.

        Raises:
            InvalidJob: As for ``enqueue``; the message names the spec by its position, from 0.
            KeyTaken: As for ``enqueue``; none is added.
        """
        specs = list(specs)
        with tracing.enqueueing(specs) as sent:
            checked = _all_checked(specs)
            with transaction.atomic(self.using):
                jobs = insert_or_find(self.using, checked)
            sent.is_about(jobs)
        return jobs

    def enqueue_flow(self, plan: Plan, *, name: str = "", idempotency_key: str | None = None) -> JobFlow:
        """Put in jobs that wait for each other; those that wait for none are enqueued at once.

        The flow exists if and only if the caller's transaction commits.

        Args:
            plan: Made by ``jobqueue.flows.chain``, ``group`` or ``graph``.
            name: For people; at most 100 characters.
            idempotency_key: As for ``enqueue``, but among flows. Its steps can't have keys of their own.

        Returns:
            The flow; ``created`` is False if the key was known.

        Raises:
            InvalidJob: A step can't be stored as asked, or there is none; before any SQL runs.
        """
        if name:
            check_text("name", name, NAME_MAX_LENGTH)
        if idempotency_key is not None:
            check_text("idempotency_key", idempotency_key, IDEMPOTENCY_KEY_MAX_LENGTH)
        return flow_steps.start(self.using, plan, name, idempotency_key)

    def cancel_flow(self, flow_id: int) -> int:
        """Enqueue none of the flow's steps any more, and cancel its jobs that wait or run; return how many.

        Raises:
            FlowNotFound: There is no such flow.
        """
        with transaction.atomic(self.using):
            return sum(map(self.cancel, flow_steps.stop(self.using, flow_id)))

    # Taking jobs out

    def dequeue(
        self,
        worker_id: str,
        job_types: Sequence[str] | None = None,
        queue_names: Sequence[str] | None = None,
    ) -> ProcessingJob:
        """Claim the next due job. See ``dequeue_many``.

        Raises:
            NoJobAvailable: Nothing is due.
        """
        jobs = self.dequeue_many(worker_id, 1, job_types, queue_names)
        if not jobs:
            raise NoJobAvailable("No job is due.")
        return jobs[0]

    def dequeue_many(
        self,
        worker_id: str,
        limit: int,
        job_types: Sequence[str] | None = None,
        queue_names: Sequence[str] | None = None,
        *,
        holder_key: int | None = None,
        alone: bool | None = None,
    ) -> list[ProcessingJob]:
        """Claim up to ``limit`` due jobs: highest priority first, then the longest due, then the lowest id.

        Jobs of dead workers are taken back first, so they are among what can be claimed. Each claim counts as an
        attempt. A job whose worker died is handed out by itself, whatever the limit.

        Args:
            worker_id: Who claims; stands in ``locked_by``.
            limit: At least 1.
            job_types: Only these; None: any.
            queue_names: Only from these queues; None: any.
            holder_key: Of the ``SignOfLife`` the caller shows; None: it promises none.
            alone: True: only jobs that are to run alone in their process; False: none of them; None: any.

        Returns:
            The claimed jobs, each with its ``lock_token``; may be empty.
        """
        check_text("worker_id", worker_id, WORKER_NAME_MAX_LENGTH)
        check_integer("limit", limit, 1, 100_000)
        check_names("job_types", job_types)
        check_names("queue_names", queue_names)
        wanted = Wanted(job_types, queue_names, alone)
        with transaction.atomic(self.using):
            self.rescue()
            return claims.claim(self.using, wanted, limit, worker_id, holder_key).jobs

    def rescue(self, *, patient: bool = False) -> int:
        """Take back the jobs whose worker is dead, and return how many. Every ``dequeue`` does this first.

        Args:
            patient: For a caller that looks again and again: nobody who promised a sign of life is dead at the first
                look, since a fail-over, like any outage, may have kept everybody from showing and renewing.
        """
        grace = conf().sign_of_life_grace
        with transaction.atomic(self.using, savepoint=False):
            return maintenance.rescue(self.using, stale_after=self.stale_lock_after, grace=grace, patient=patient)

    def suspects_workers(self) -> bool:
        """Return whether ``rescue`` has something to look into: one statement, which locks nothing."""
        return dead_workers_suspected(
            self.using,
            stale_after=self.stale_lock_after,
            heeds_signs=conf().sign_of_life_grace is not None,
        )

    # What a worker says about the jobs it holds

    def complete(self, job: ProcessingJob, result: Any = None) -> None:
        """Record success.

        A repeated call for the same claim succeeds and changes nothing, since the answer to a COMMIT may be lost.

        Args:
            job: What ``dequeue`` returned for this attempt.
            result: Small JSON. What can't be stored is replaced by a note that says why; the job succeeds all the same.

        Raises:
            LockLost: The lock went stale and another worker has the job, or it was cancelled.
        """
        step = job.flow_step_id
        with nullcontext() if step is None else transaction.atomic(self.using, savepoint=False):
            done = fence.held(self.using, job).update(
                status=JobStatus.SUCCEEDED,
                finished_at=Now(),
                result=storable_result(result),
                progress=100,
                worker_deaths=0,
                history=with_attempt(Outcome.SUCCEEDED),
                **UNLOCKED,
            )
            if done and step is not None:
                flow_steps.advance(self.using, [step])
        if not done and not fence.completed(self.using, job):
            raise fence.lock_lost(job)

    def complete_many(self, endings: Sequence[tuple[ProcessingJob, Any]]) -> Completed:
        """Record the success of many jobs, each with its result, by two statements at most.

        A row that another transaction has locked is not waited for.

        Returns:
            Which of them are on record now, whose locks were lost, and which are to be tried again.
        """
        return completions.complete_many(self.using, endings)

    def fail(self, job: ProcessingJob, error: BaseException | str, *, retry: bool = True) -> str:
        """Record a failed attempt and decide whether the job runs again.

        Args:
            job: What ``dequeue`` returned for this attempt.
            error: Kept as class, message and traceback, at most 16 KiB; text PostgreSQL refuses is replaced.
            retry: False sends the job to the dead letters at once.

        Returns:
            The status now: ``pending`` (due after the backoff) or ``dead_letter``.

        Raises:
            LockLost: The lock went stale and another worker has the job, or it was cancelled.
        """
        text = describe(error)
        handler = handlers.registered().get(job.job_type)
        again = retry and job.attempts < job.max_attempts
        delay = backoff.next_delay(handler.backoff if handler else backoff.default)
        status = JobStatus.PENDING if again else JobStatus.DEAD_LETTER
        done = fence.held(self.using, job).update(
            status=status,
            available_at=Now() + delay if again else F("available_at"),
            last_error=text,
            lock_token=None,
            worker_deaths=0,
            history=with_attempt(Outcome.FAILED, text),
            **UNLOCKED,
        )
        if not done:
            raise fence.lock_lost(job)
        return status.value

    def locked_by_others(self, jobs: Iterable[ProcessingJob]) -> list[ProcessingJob]:
        """Lock the rows of held jobs that are free, and return the others: writing about those would have to wait.

        Must run in a transaction.
        """
        jobs = list(jobs)
        free = fence.lock_in_id_order(self.using, jobs)
        rest = [job for job in jobs if (job.pk, job.lock_token) not in free]
        return fence.still_held(self.using, rest) if rest else []

    def renew(self, jobs: Iterable[ProcessingJob]) -> list[ProcessingJob]:
        """Extend the locks, and return the jobs still held.

        A row that another transaction has locked is not waited for: that may be its own handler's, which completes
        the job at the end of a long transaction. Such a job still counts as held; its ``locked_at`` stays as it was,
        where that of a renewed one is moved.
        """
        held = fence.still_held(self.using, jobs)
        if held:
            with transaction.atomic(self.using):
                free = fence.lock_in_id_order(self.using, held)
                rows = self._jobs().filter(pk__in=[pk for pk, _ in free])
                rows.update(locked_at=Now(), suspected_since=None)
                moved = dict(rows.values_list("pk", "locked_at"))
            for job in held:
                job.locked_at = moved.get(job.pk, job.locked_at)
        return held

    def release(self, jobs: Iterable[ProcessingJob], *, started: bool = True) -> list[ProcessingJob]:
        """Give jobs back unharmed: ``pending``, due as before, the attempt not counted.

        Args:
            jobs: What ``dequeue`` returned.
            started: False: no handler has seen them, so that their history need not tell.

        Returns:
            Those given back; one whose lock was lost, or whose row is locked by a transaction, is not among them.
        """
        jobs = list(jobs)
        with transaction.atomic(self.using):
            free = fence.lock_in_id_order(self.using, jobs)
            self._jobs().filter(pk__in=[pk for pk, _ in free]).update(
                status=JobStatus.PENDING,
                attempts=F("attempts") - 1,
                lock_token=None,
                history=with_attempt(Outcome.RELEASED) if started else F("history"),
                **UNLOCKED,
            )
            if free:
                wake_after_commit(self.using)
        return [job for job in jobs if (job.pk, job.lock_token) in free]

    def report_progress(self, job: ProcessingJob, percent: int) -> None:
        """Record how far a held job is, 0 to 100.

        Raises:
            LockLost: The lock went stale and another worker has the job, or it was cancelled.
        """
        check_integer("percent", percent, 0, 100)
        if not fence.held(self.using, job).update(progress=percent):
            raise fence.lock_lost(job)

    def hold(self, job: ProcessingJob) -> None:
        """Make sure that the claim holds until the caller's transaction ends, by locking the job's row.

        What the transaction writes is so fenced like the queue's own writes.

        Raises:
            LockLost: The lock went stale and another worker has the job, or it was cancelled.
        """
        if not fence.held(self.using, job).select_for_update().exists():
            raise fence.lock_lost(job)

    def results_before(self, job: ProcessingJob) -> Sequence[Any]:
        """Return what the jobs returned that this step of a flow waited for; see ``JobContext.results_before``."""
        return [] if job.flow_step_id is None else flow_steps.results_before(self.using, job.flow_step_id)

    def still_held(self, job: ProcessingJob) -> bool:
        """Return whether the claim that ``job`` came from still holds."""
        return fence.held(self.using, job).exists()

    # What people decide

    def requeue_dead_letter(self, job_id: int) -> None:
        """Let a dead letter run again: ``pending``, no attempts counted, due now. Its history stays.

        Raises:
            JobNotFound: There is no such job.
            NotDeadLettered: It is in another status; nothing was changed.
        """
        _one(job_id, dead_letters.requeue(self.using, [job_id]))

    def discard(self, job_id: int) -> None:
        """Give a dead letter up: ``failed``, final.

        Raises:
            JobNotFound: There is no such job.
            NotDeadLettered: It is in another status; nothing was changed.
        """
        _one(job_id, dead_letters.discard(self.using, [job_id]))

    def requeue_dead_letters(self, job_ids: Sequence[int], *, spread: timedelta = timedelta(0)) -> Decided:
        """Let many dead letters run again, by a constant number of statements in one transaction.

        Args:
            job_ids: Best in batches of some 1,000.
            spread: Each becomes due at a random moment within it, so that they don't all come at once.

        Returns:
            What was done, and what was refused and why; one refusal doesn't hinder the others.
        """
        return dead_letters.requeue(self.using, job_ids, spread=spread)

    def discard_dead_letters(self, job_ids: Sequence[int]) -> Decided:
        """Give many dead letters up; answers like ``requeue_dead_letters``."""
        return dead_letters.discard(self.using, job_ids)

    def cancel(self, job_id: int) -> bool:
        """End a job that waits or runs: ``failed``, final.

        A worker that runs it loses its lock at once and learns of it after the commit: it kills an isolated handler and
        raises ``Cancelled`` in any other. Whatever that does afterwards is not recorded.

        Returns:
            False if it was neither pending nor processing, or there is no such job.
        """
        unfinished = self._jobs().filter(pk=job_id, status__in=(JobStatus.PENDING, JobStatus.PROCESSING))
        running = When(status=JobStatus.PROCESSING, then=with_cancelled_attempt())
        cancelled = unfinished.update(
            status=JobStatus.FAILED,
            finished_at=Now(),
            last_error="cancelled",
            available_at=Coalesce("blocked_due_at", "available_at"),
            lock_token=None,
            history=Case(running, default=F("history")),
            **UNLOCKED,
        )
        if cancelled:
            tell_cancelled_after_commit(self.using, job_id)
        return bool(cancelled)

    def pause(self, queue_name: str) -> bool:
        """Let nothing be claimed from a queue until it is resumed; what runs goes on. In effect when it commits.

        A worker may begin what it has taken in advance: up to 50 ms of work.

        Returns:
            False if it was paused before.

        Raises:
            InvalidJob: That can't be a queue's name.
        """
        check_text("queue_name", queue_name, NAME_MAX_LENGTH)
        return PausedQueue.objects.using(self.using).get_or_create(queue_name=queue_name)[1]

    def resume(self, queue_name: str) -> bool:
        """Let a paused queue be served again, and wake the workers; False if it was not paused."""
        deleted, _ = PausedQueue.objects.using(self.using).filter(queue_name=queue_name).delete()
        if deleted:
            wake_after_commit(self.using)
        return bool(deleted)

    def paused_queues(self) -> list[str]:
        """Return the names of the paused queues, in order."""
        return list(PausedQueue.objects.using(self.using).order_by("queue_name").values_list("queue_name", flat=True))

    def status(self, job_id: int) -> str:
        """Return the job's status.

        Raises:
            JobNotFound: There is no such job.
        """
        status = self._jobs().filter(pk=job_id).values_list("status", flat=True).first()
        if status is None:
            raise _job_not_found(job_id)
        return status

    def get(self, job_id: int) -> ProcessingJob:
        """Return the job as its row says now.

        Raises:
            JobNotFound: There is no such job.
        """
        job = self._jobs().filter(pk=job_id).first()
        if job is None:
            raise _job_not_found(job_id)
        return job

    def _jobs(self) -> QuerySet[ProcessingJob]:
        return ProcessingJob.objects.using(self.using)


def _all_checked(specs: Sequence[JobSpec]) -> list[CheckedSpec]:
    checked = []
    for position, spec in enumerate(specs):
        try:
            checked.append(spec.checked())
        except InvalidJob as error:
            raise InvalidJob(f"Job {position}: {error}") from None
    return checked


def _one(job_id: int, decided: Decided) -> None:
    """Raise what the decision about a single job was refused for."""
    for reason in decided.refused.values():
        if reason == "unknown":
            raise _job_not_found(job_id)
        if reason == "locked":
            raise NotDeadLettered(f"Somebody else is just deciding about job {job_id}; nothing was changed.")
        raise NotDeadLettered(f"Job {job_id} is {reason}, not dead_letter; nothing was changed.")


def _job_not_found(job_id: int) -> JobNotFound:
    return JobNotFound(f"There is no job {job_id}.")
