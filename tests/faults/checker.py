"""Did the queue keep its promises? Reads a history and names what it finds, in plain words.

Nothing here knows the queue's code: each promise is checked on what producers, handlers and tables say.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.faults.history import History, Row, Run

#: How an attempt ends that counts; one that was given back doesn't.
COUNTED = ("succeeded", "failed", "worker_died", "cancelled")
#: A row's own history holds the last attempts only.
HISTORY_HOLDS = 20
#: What broke so long before still explains why a claim was lost, or an outcome not recorded.
EXPLAINS_FOR_SECONDS = 60.0


#: What can be broken, and what that means.
PROMISES = {
    "lost": "committed, and there is no row",
    "invented": "a row that was rolled back, or that nobody enqueued",
    "torn": "a batch of which only a part is there",
    "enqueued twice": "two rows of one enqueue, or of one key",
    "overlap": "two runs of a job at the same time",
    "repeated": "run again after a good end, or succeeded twice",
    "foreign schema": "a handler found itself in another tenant",
    "unearned": "a success whose handler never returned",
    "old claim": "an outcome written by a claim that had lost its job",
    "miscounted": "attempts left out, too many, or fewer than runs",
    "taken for dead": "a job taken from a worker that lived and could show it",
    "stuck": "due and not done, or held by nobody",
    "dead letter": "dead with attempts left, given up by nobody, or back from there",
    "process": "a process ended as nobody intended",
}


@dataclass(frozen=True)
class Violation:
    """A promise that was broken; ``kind`` is one of ``PROMISES``."""

    kind: str
    text: str


Check = Callable[[History], Iterator[Violation]]


def violations(history: History) -> list[Violation]:
    """Return every broken promise, check by check."""
    return [violation for check in CHECKS for violation in check(history)]


# What was enqueued


def what_was_committed_is_there(history: History) -> Iterator[Violation]:
    marks = {(row.job.schema, row.mark) for row in history.rows}
    keys = {(row.job.schema, row.key) for row in history.rows if row.key}
    for enqueue in history.enqueues:
        place = (enqueue.schema, enqueue.mark)
        if enqueue.outcome == "rolled back" and place in marks:
            yield Violation("invented", f"{enqueue.mark} of {enqueue.schema} was rolled back and has a row")
        if enqueue.outcome == "committed" and place not in marks and (enqueue.schema, enqueue.key) not in keys:
            yield Violation("lost", f"{enqueue.mark} of {enqueue.schema} was committed and has no row")


def a_batch_is_there_as_a_whole_or_not_at_all(history: History) -> Iterator[Violation]:
    marks = {(row.job.schema, row.mark) for row in history.rows}
    batches: defaultdict[str, set[bool]] = defaultdict(set)
    for enqueue in history.enqueues:
        if enqueue.key is None:  # one with a key may be another's job
            batches[enqueue.batch].add((enqueue.schema, enqueue.mark) in marks)
    for batch, found in batches.items():
        if len(found) > 1:
            yield Violation("torn", f"of batch {batch} some have rows and some have none")


def nothing_was_enqueued_twice_or_by_nobody(history: History) -> Iterator[Violation]:
    known = {(enqueue.schema, enqueue.mark) for enqueue in history.enqueues}
    for row in history.rows:
        if (row.job.schema, row.mark) not in known:
            yield Violation("invented", f"nobody enqueued job {row.job} ({row.mark})")
    marks = Counter((row.job.schema, "mark", row.mark) for row in history.rows)
    keys = Counter((row.job.schema, "key", row.key) for row in history.rows if row.key)
    for (schema, name, value), count in [*marks.items(), *keys.items()]:
        if count > 1:
            yield Violation("enqueued twice", f"{name} {value} of {schema} has {count} rows")


# What ran


def runs_do_not_overlap(history: History) -> Iterator[Violation]:
    for first, second in history.successive_runs():
        overlap = history.end_of(first) > second.started
        if overlap and not _is_explained(history, first, second, first.started, second.started):
            yield Violation("overlap", f"job {first.job} ran in {_by(first)} and in {_by(second)} at the same time")


def nothing_runs_again_after_a_good_end(history: History) -> Iterator[Violation]:
    for first, second in history.successive_runs():
        until = min(second.started, first.ended + EXPLAINS_FOR_SECONDS)
        if first.how == "returned" and not _is_explained(history, first, second, first.started, until):
            yield Violation("repeated", f"job {first.job} returned in {_by(first)} and ran again in {_by(second)}")


def _is_explained(history: History, first: Run, second: Run, since: float, until: float) -> bool:
    """Return whether the first run's worker may have lost its claim, or the second run is a late one of an older claim.

    Who was frozen with jobs taken in advance may begin one before it can know that it has lost it.
    """
    is_older = second.attempt < first.attempt
    before = second.started - EXPLAINS_FOR_SECONDS
    return history.may_have_lost_its_claim(first.worker, since, until) or (
        is_older and history.may_have_lost_its_claim(second.worker, before, second.started)
    )


def runs_are_in_their_schema(history: History) -> Iterator[Violation]:
    for run in history.runs:
        if run.seen_schema not in (None, run.job.schema):
            yield Violation("foreign schema", f"job {run.job} ran in {_by(run)} and was in {run.seen_schema}")


# What stands in the rows


def success_is_earned(history: History) -> Iterator[Violation]:
    """A success belongs to the claim whose token the row has, and that claim's handler returned."""
    for row in history.rows:
        if row.status == "succeeded":
            run = next((run for run in history.runs_of(row.job) if run.token == row.token), None)
            if run is None or run.how != "returned":
                yield Violation("unearned", f"job {row.job} succeeded by a claim whose handler never returned")
            elif row.result_token != row.token:
                yield Violation("old claim", f"job {row.job} was completed with the result of another claim")
        if sum(attempt.outcome == "succeeded" for attempt in row.attempts_made) > 1:
            yield Violation("repeated", f"job {row.job} succeeded more than once by its own history")


def a_failure_is_of_its_own_claim(history: History) -> Iterator[Violation]:
    """What a handler raises names its token: it must stand in the entry of the attempt and worker that raised it."""
    for row in history.rows:
        for attempt in row.attempts_made:
            for run in history.runs_of(row.job) if attempt.outcome == "failed" else ():
                is_its = (run.attempt, run.worker) == (attempt.number, attempt.worker)
                if run.token in attempt.error and not is_its:
                    yield Violation("old claim", f"job {row.job}: {_by(run)} wrote into attempt {attempt.number}")


def attempts_add_up(history: History) -> Iterator[Violation]:
    """Each attempt that counts has its number, from 1 again after a requeue; no run is left out."""
    for row in history.rows:
        if row.attempts > row.max_attempts:
            yield Violation("miscounted", f"job {row.job} has {row.attempts} attempts of {row.max_attempts}")
        counted = [attempt.number for attempt in row.attempts_made if attempt.outcome in COUNTED]
        requeued = any(verb == "requeue" for verb, _ in history.verbs_on(row.job))
        comparable = bool(counted) and row.status != "processing" and not (requeued and row.attempts == 0)
        if comparable and row.attempts != counted[-1]:
            yield Violation("miscounted", f"job {row.job} has {row.attempts} attempts, by its history {counted[-1]}")
        for before, after in pairwise(counted):
            if after != before + 1 and not (requeued and after == 1):
                yield Violation("miscounted", f"job {row.job} counted {after} after {before}")
        if not requeued and len(row.attempts_made) < HISTORY_HOLDS:
            yield from _no_run_is_left_out(history, row)


def _no_run_is_left_out(history: History, row: Row) -> Iterator[Violation]:
    given_back = sum(attempt.outcome == "released" for attempt in row.attempts_made)
    runs = history.runs_of(row.job)
    if len(runs) > row.attempts + given_back:
        yield Violation("miscounted", f"job {row.job} ran {len(runs)} times and has {row.attempts} attempts")


def only_the_dead_are_taken_for_dead(history: History) -> Iterator[Violation]:
    for row in history.rows:
        for attempt in row.attempts_made:
            if attempt.outcome == "worker_died":
                since = attempt.ended - EXPLAINS_FOR_SECONDS
                if not history.may_have_lost_its_claim(attempt.worker, since, attempt.ended):
                    yield Violation("taken for dead", f"job {row.job}: worker {attempt.worker} lived")


def everything_came_to_an_end(history: History) -> Iterator[Violation]:
    for row in history.rows:
        if row.status == "processing":
            yield Violation("stuck", f"job {row.job} is processing, and there is no worker")
        if row.status == "pending" and row.due:
            yield Violation("stuck", f"job {row.job} is due and was not done")


def dead_letters_have_a_reason_and_stay(history: History) -> Iterator[Violation]:
    for row in history.rows:
        verbs = history.verbs_on(row.job)
        used_up = row.attempts >= row.max_attempts
        useless = any(run.how == "useless" for run in history.runs_of(row.job))
        if row.status == "dead_letter" and not used_up and not useless:
            yield Violation("dead letter", f"job {row.job} died with {row.attempts} of {row.max_attempts} attempts")
        if row.status == "failed" and not {verb for verb, _ in verbs} & {"cancel", "discard"}:
            yield Violation("dead letter", f"job {row.job} was given up by nobody")
        if row.status != "failed" and {("cancel", "done"), ("discard", "done")} & verbs:
            yield Violation("dead letter", f"job {row.job} was given up and is {row.status}")


def _by(run: Run) -> str:
    return f"worker {run.worker} (attempt {run.attempt})"


CHECKS: tuple[Check, ...] = (
    what_was_committed_is_there,
    a_batch_is_there_as_a_whole_or_not_at_all,
    nothing_was_enqueued_twice_or_by_nobody,
    runs_do_not_overlap,
    nothing_runs_again_after_a_good_end,
    runs_are_in_their_schema,
    success_is_earned,
    a_failure_is_of_its_own_claim,
    attempts_add_up,
    only_the_dead_are_taken_for_dead,
    everything_came_to_an_end,
    dead_letters_have_a_reason_and_stay,
)
