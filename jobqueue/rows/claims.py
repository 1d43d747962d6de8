"""Claiming due jobs: which ones, and what a claim writes. Joins the caller's transaction."""

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID, uuid4

from django.db import connections
from django.db.models import BooleanField, F, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Now

from jobqueue.models import RUN_ALONE_AFTER_DEATHS, ProcessingJob
from jobqueue.rows import concurrency
from jobqueue.rows.due_jobs import ANY_NUMBER_OF_DEATHS, look_for_due_jobs
from jobqueue.rows.fence import UNLOCKED
from jobqueue.rows.lanes import BEGINNING, Due, Lane, Marks, Place
from jobqueue.rows.prepared import ANY_LIMIT, Slot, Statement, select, update
from jobqueue.states import JobStatus

_CLAIM_ORDER = ("-priority", "available_at", "id")
#: How often a worker's claim goes on after blocking jobs; then it commits, and comes again.
_MOST_ROUNDS = 10


@dataclass(frozen=True)
class Wanted:
    """Which jobs somebody would take."""

    job_types: Sequence[str] | None = None  # None: any
    queue_names: Sequence[str] | None = None  # None: of any queue
    #: True: only those that are to run alone in their process; False: none of them; None: either.
    alone: bool | None = None


@dataclass(frozen=True)
class Claimed:
    """What a claim took."""

    jobs: list[ProcessingJob]
    #: Whether more may be due now: as many as asked for were found, or one comes next that must be claimed by itself.
    more: bool
    #: Until the next job that isn't due yet; None if there is none, or nobody has looked.
    seconds_to_next: float | None = None


def claim(
    using: str,
    wanted: Wanted,
    limit: int,
    worker_id: str,
    holder_key: int | None,
    *,
    marks: Marks | None = None,
    token: UUID | None = None,
) -> Claimed:
    """Claim up to ``limit`` due jobs: highest priority first, then the longest due, then the lowest id.

    First looks without locking, then locks by one statement in each lane as many as the look found there, of those
    that no other transaction has locked meanwhile. Behind marks in a single lane the look is left out. Must run in a
    transaction.

    Args:
        using: The database's alias.
        wanted: Which jobs.
        limit: At least 1.
        worker_id: Stands in ``locked_by``.
        holder_key: Of the sign of life that the worker shows; None: none.
        marks: Where to go on, and where to note how far this claim came; None: from the front.
        token: To be the claim's ``lock_token``; None: a new one.
    """
    token = token or uuid4()
    if wanted.alone:
        alone = [_made(using, row) for row in _locking_lonely(using).run(using, _lists(wanted))]
        admitted = concurrency.admit(using, alone)
        return Claimed(_taken(using, admitted, worker_id, holder_key, token), more=bool(alone))
    deaths_below = ANY_NUMBER_OF_DEATHS if wanted.alone is None else RUN_ALONE_AFTER_DEATHS
    claimed, short, blocked = _claim_once(using, wanted, limit, deaths_below, worker_id, holder_key, token, marks, ())
    exhausted = set(short)
    rounds = 1
    # Where others were quicker, what they left in other lanes makes up for it. What is taken is no longer pending.
    # What was blocked is no longer due, and others are.
    while len(claimed.jobs) < limit and (blocked or (short and not (marks and marks.looked_behind))):
        if any(job.worker_deaths for job in claimed.jobs) or (marks and rounds == _MOST_ROUNDS):
            break
        rounds += 1
        room = limit - len(claimed.jobs)
        below = 1 if claimed.jobs else deaths_below
        more, short, blocked = _claim_once(using, wanted, room, below, worker_id, holder_key, token, marks, exhausted)
        exhausted |= short
        claimed = Claimed(claimed.jobs + more.jobs, more.more, more.seconds_to_next)
    return claimed


def _claim_once(
    using: str,
    wanted: Wanted,
    limit: int,
    deaths_below: int,
    worker_id: str,
    holder_key: int | None,
    token: UUID,
    marks: Marks | None,
    but: Collection[Lane],
) -> tuple[Claimed, set[Lane], bool]:
    """Look, lock and claim.

    Returns:
        Also the lanes that gave less than their share, since others have locked the rest, and whether jobs were
        blocked.
    """
    due = _look(using, wanted, limit, deaths_below, marks, but)
    jobs = _lock_in_lanes(using, due.takes, marks.places if marks else {}, deaths_below)
    lanes = [due.takes[0][0]] * len(jobs) if len(due.takes) == 1 else [_lane_of(job) for job in jobs]
    found = Counter(lanes)
    short = {lane for lane, share in due.takes if found[lane] < share}
    kept = _leave_the_lonely(jobs)
    if marks is not None:
        now = time.monotonic()
        for lane, job in dict(zip(lanes, kept, strict=False)).items():  # of a lane's the last; some may be cut off
            marks.advance(lane, Place(job.available_at, job.pk), now)
    admitted = concurrency.admit(using, kept)
    blocked = len(admitted) < len(kept)
    if blocked and marks is not None:
        marks.forget()  # other lanes may come first now
    more = len(jobs) == limit or len(kept) < len(jobs) or (due.more and not short) or blocked
    claimed = Claimed(_taken(using, admitted, worker_id, holder_key, token), more, due.seconds_to_next)
    return claimed, short, blocked


def _look(using: str, wanted: Wanted, limit: int, deaths_below: int, marks: Marks | None, but: Collection[Lane]) -> Due:
    if marks is not None and marks.only_lane is not None:
        return Due([(marks.only_lane, limit)], more=False, seconds_to_next=None)
    return look_for_due_jobs(
        using,
        limit=limit,
        deaths_below=deaths_below,
        job_types=wanted.job_types,
        queue_names=wanted.queue_names,
        marks=marks,
        but=but,
    )


def _lane_of(job: ProcessingJob) -> Lane:
    return Lane(job.job_type, job.queue_name, job.priority)


def undo(using: str, token: UUID, server_process: int) -> bool:
    """Give back what was claimed with this token, if anything was: the answer to that COMMIT was lost.

    Returns:
        False if it isn't decided yet, since the server process with that transaction is still at work.
    """
    if _is_at_work(using, server_process):
        return False
    ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING, lock_token=token).update(
        status=JobStatus.PENDING, attempts=F("attempts") - 1, lock_token=None, **UNLOCKED
    )
    return True


def _is_at_work(using: str, server_process: int) -> bool:
    """Return whether a server process has a transaction, as far as this user may see."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s AND state <> 'idle'", [server_process])
        return bool(cursor.rowcount)


def waits_alone(using: str, wanted: Wanted) -> bool:
    """Return whether a job is due that is to run alone in its process."""
    return bool(_looking_for_lonely(using).run(using, _lists(wanted)))


def _lists(wanted: Wanted) -> dict[str, Any]:
    named = {"job_types": wanted.job_types, "queue_names": wanted.queue_names}
    return {name: None if values is None else list(values) for name, values in named.items()}


@cache
def _looking_for_lonely(using: str) -> Statement:
    return select(_lonely(using).values_list("id")[:1])


@cache
def _locking_lonely(using: str) -> Statement:
    return select(_locked(_lonely(using))[:1])


def _lonely(using: str) -> QuerySet[ProcessingJob]:
    return _where(using, _TO_RUN_ALONE, "job_types", "job_types", "queue_names", "queue_names")


# Each one condition in SQL. The place is compared as a row, which the index can start from; taken apart, all jobs of
# the same moment would be read. Of several lanes, each with its share, the ids come in an array, so that the planner
# runs that once.
_IN_LANE = """
    status = 'pending' AND job_type = %s AND queue_name = %s AND priority = %s
    AND (available_at, id) > (%s, %s) AND available_at <= statement_timestamp() AND worker_deaths < %s
    AND (SELECT count(*) = 0 FROM paused_queues WHERE queue_name = %s)
"""
_IN_LANES = """
    id = ANY (ARRAY(
        SELECT due.id
        FROM unnest(%s::text[], %s::text[], %s::smallint[], %s::timestamptz[], %s::bigint[], %s::int[])
            AS lane (job_type, queue_name, priority, after_at, after_id, share)
        CROSS JOIN LATERAL (
            SELECT id FROM processing_jobs AS job
            WHERE status = 'pending' AND job.job_type = lane.job_type AND job.queue_name = lane.queue_name
              AND job.priority = lane.priority AND available_at <= statement_timestamp() AND worker_deaths < %s
              AND (available_at, id) > (lane.after_at, lane.after_id)
            ORDER BY available_at, id LIMIT lane.share FOR UPDATE SKIP LOCKED
        ) AS due
        WHERE lane.queue_name NOT IN (SELECT queue_name FROM paused_queues)
    ))
"""
_TO_RUN_ALONE = f"""
    status = 'pending' AND worker_deaths >= {RUN_ALONE_AFTER_DEATHS} AND available_at <= statement_timestamp()
    AND (%s::text[] IS NULL OR job_type = ANY (%s::text[])) AND (%s::text[] IS NULL OR queue_name = ANY (%s::text[]))
    AND queue_name NOT IN (SELECT queue_name FROM paused_queues)
"""  # noqa: S608 - made of constants
_PLACES = ("job_type", "queue_name", "priority", "after_at", "after_id")


def _lock_in_lanes(
    using: str, takes: Sequence[tuple[Lane, int]], places: Mapping[Lane, Place], deaths_below: int
) -> list[ProcessingJob]:
    """Lock each lane's share, from behind its place, of the jobs that nobody else has locked; in claim order."""
    each = [(*lane, *places.get(lane, BEGINNING), share) for lane, share in takes]
    if not each:
        return []
    if len(each) == 1:
        *place, share = each[0]
        statement = _locking_in_one(using).limited_to(share)
        values = dict(zip(_PLACES, place, strict=True))
    else:
        statement = _locking_in_several(using)
        values = dict(zip((*_PLACES, "share"), map(list, zip(*each, strict=True)), strict=True))
    return [_made(using, row) for row in statement.run(using, values | {"deaths_below": deaths_below})]


@cache
def _locking_in_one(using: str) -> Statement:
    return select(_locked(_where(using, _IN_LANE, *_PLACES, "deaths_below", "queue_name"))[:ANY_LIMIT])


@cache
def _locking_in_several(using: str) -> Statement:
    return select(_locked(_where(using, _IN_LANES, *_PLACES, "share", "deaths_below")))


def _where(using: str, condition: str, *slots: str) -> QuerySet[ProcessingJob]:
    sql = RawSQL(condition, [Slot(name) for name in slots], output_field=BooleanField())  # noqa: S611 - constants
    return ProcessingJob.objects.using(using).filter(sql).order_by(*_CLAIM_ORDER)


#: What a pending job that isn't blocked is known to have, or a claim sets.
_KNOWN: dict[str, Any] = {
    "status": JobStatus.PENDING,
    "finished_at": None,
    "result": None,
    "progress": None,
    **UNLOCKED,
}
_READ = (
    *("id", "job_type", "queue_name", "priority", "attempts", "max_attempts", "worker_deaths"),
    *("idempotency_key", "last_error", "traceparent", "concurrency_key", "concurrency_limit", "flow_step_id"),
)
# As text, which Python's own readers take apart in a fraction of the time.
_READ_AS_TEXT = {
    "payload_text": Cast("payload", TextField()),
    "history_text": Cast("history", TextField()),
    "created_text": Cast("created_at", TextField()),
    "due_text": Cast("available_at", TextField()),
    "now_text": Cast(Now(), TextField()),
}
_from_json = json.JSONDecoder().raw_decode  # json.loads asks more questions than such a text takes to read


def _locked(due: QuerySet[ProcessingJob]) -> QuerySet[ProcessingJob, Any]:
    """Return what a claim reads of these jobs, locked, of those that nobody else has locked."""
    return due.select_for_update(skip_locked=True).annotate(**_READ_AS_TEXT).values_list(*_READ, *_READ_AS_TEXT)


def _made(using: str, row: Sequence[Any]) -> ProcessingJob:
    """Make the object for what was read: for hundreds of rows, Django's way costs more than everything else here."""
    *values, payload, history, created, due, now = row
    known = {
        **_KNOWN,
        **dict(zip(_READ, values, strict=True)),
        "payload": _from_json(payload)[0],
        "history": _from_json(history)[0] if history != "[]" else [],
        "created_at": datetime.fromisoformat(created),
        "available_at": datetime.fromisoformat(due),
        "locked_at": now,
    }
    return ProcessingJob.of_row(using, known)


def _leave_the_lonely(jobs: list[ProcessingJob]) -> list[ProcessingJob]:
    """Cut a batch so that a job whose worker died is alone; the rest is unlocked at the end of the transaction."""
    for position, job in enumerate(jobs):
        if job.worker_deaths:
            return jobs[: max(position, 1)]
    return jobs


def _taken(
    using: str,
    jobs: Sequence[ProcessingJob],
    worker_id: str,
    holder_key: int | None,
    token: UUID,
) -> list[ProcessingJob]:
    """Write the claim into the rows, which are locked, and into the objects."""
    if not jobs:
        return []
    now = datetime.fromisoformat(jobs[0].__dict__["locked_at"])
    ids = f"{{{','.join([str(job.id) for job in jobs])}}}"  # hundreds of parameters would cost more than all the rest
    claim: dict[str, Any] = {
        "locked_at": now,
        "started_at": now,
        "locked_by": worker_id,
        "lock_token": token,
        "holder_key": holder_key,
    }
    if slots := {job.id: job.concurrency_slot for job in jobs if job.concurrency_slot}:
        _claiming(using, with_slots=True).run(using, claim | {"ids": ids, "slots": json.dumps(slots)})
    else:
        _claiming(using).run(using, claim | {"ids": ids})
    claim["status"] = JobStatus.PROCESSING
    for job in jobs:
        job.attempts += 1
        job.__dict__.update(claim)
    return list(jobs)


@cache
def _claiming(using: str, *, with_slots: bool = False) -> Statement:
    slots = ("locked_at", "started_at", "locked_by", "lock_token", "holder_key")
    slot = {"concurrency_slot": RawSQL("(%s::jsonb ->> id::text)::smallint", [Slot("slots")])} if with_slots else {}
    return update(
        _where(using, "id = ANY (%s::bigint[])", "ids").order_by(),
        status=JobStatus.PROCESSING,
        attempts=F("attempts") + 1,
        suspected_since=None,
        progress=None,
        **{name: RawSQL("%s", [Slot(name)]) for name in slots},
        **slot,
    )
