"""Q01, Q04 and their kind: what can't be stored is refused before any SQL, by every way in."""

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobqueue.exceptions import InvalidJob, JobQueueError
from jobqueue.models import IDEMPOTENCY_KEY_MAX_LENGTH, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.jobs import row

CIRCLE: dict[str, Any] = {}
CIRCLE["circle"] = CIRCLE


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


UNSTORABLE_PAYLOADS = {
    "NUL in a value": {"a": "x\0y"},
    "NUL in a key": {"x\0y": 1},
    "NUL in a nested list": {"a": [1, [2, {"b": ["\0"]}]]},
    "NUL beside an escaped backslash": {"a": "\\u0000", "b": "\0"},
    "a lone surrogate in a value": {"a": "name \udcff"},
    "a lone surrogate in a key": {"\ud800": 1},
    "not a number": {"a": math.nan},
    "infinity": {"a": [-math.inf]},
    "a set": {"a": {1, 2}},
    "bytes": {"a": b"x"},
    "a datetime": {"a": datetime(2026, 1, 1, tzinfo=UTC)},
    "a model": {"a": ProcessingJob()},
    "a key that is a number": {1: "a"},
    "a key that is None, deep inside": {"a": [{None: 1}]},
    "a circle": CIRCLE,
    "too deep": deep(100_000),
    "an integer too long for Python to write": {"a": 10**5000},
    "too large": {"a": "x" * 2**20},
    "too large in UTF-8 alone": {"a": "ü" * 2**19},
    "no dict": ["a"],
    "None": None,
    "a text": '{"a": 1}',
}

INVALID_OPTIONS = {
    "no text as type": {"job_type": 7},
    "empty type": {"job_type": ""},
    "type too long": {"job_type": "x" * 101},
    "NUL in the type": {"job_type": "a\0"},
    "empty queue": {"queue_name": ""},
    "queue None": {"queue_name": None},
    "queue too long": {"queue_name": "x" * 101},
    "surrogate in the queue": {"queue_name": "\ud800"},
    "empty key": {"idempotency_key": ""},
    "key too long": {"idempotency_key": "k" * (IDEMPOTENCY_KEY_MAX_LENGTH + 1)},
    "NUL in the key": {"idempotency_key": "k\0"},
    "surrogate in the key": {"idempotency_key": "k\udfff"},
    "key of bytes": {"idempotency_key": b"k"},
    "priority too high": {"priority": 101},
    "priority too low": {"priority": -101},
    "priority True": {"priority": True},
    "priority with a fraction": {"priority": 1.0},
    "priority None": {"priority": None},
    "no attempts": {"max_attempts": 0},
    "too many attempts": {"max_attempts": 10_001},
    "attempts as text": {"max_attempts": "5"},
    "naive time": {"available_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - naive on purpose
    "time as text": {"available_at": "2026-01-01T00:00:00Z"},
    "a delay instead of a time": {"available_at": timedelta(seconds=3)},
    "time before year 1 in UTC": {"available_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
    "time after year 9999 in UTC": {"available_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
}

Way = Callable[[Queue, dict[str, Any]], object]


def one(queue: Queue, wanted: dict[str, Any]) -> object:
    return queue.enqueue(**{"job_type": "test.ok", "payload": {}} | wanted)


def delayed(queue: Queue, wanted: dict[str, Any]) -> object:
    return one(queue, {"available_at": datetime(2099, 1, 1, tzinfo=UTC)} | wanted)


def many(queue: Queue, wanted: dict[str, Any]) -> object:
    good = JobSpec("test.ok", {})
    return queue.enqueue_many([good, JobSpec(**{"job_type": "test.ok", "payload": {}} | wanted), good])


WAYS_IN: list[Way] = [one, delayed, many]


def refusals(queue: Queue, wanted: dict[str, Any]) -> Iterator[str]:
    """Give the message of each way in, after seeing that no statement ran and the transaction is still usable."""
    for way_in in WAYS_IN:
        with transaction.atomic(), CaptureQueriesContext(connection) as queries:
            with pytest.raises(InvalidJob) as refusal:
                way_in(queue, wanted)
            assert len(queries) == 0, "a statement ran before the refusal"
            assert ProcessingJob.objects.count() == 0
        yield str(refusal.value)


@pytest.mark.parametrize("payload", UNSTORABLE_PAYLOADS.values(), ids=UNSTORABLE_PAYLOADS)
def test_a_payload_that_cannot_be_stored_is_refused_before_any_statement(queue: Queue, payload: Any) -> None:
    for message in refusals(queue, {"payload": payload}):
        assert "payload" in message
        assert len(message) < 300
        assert "\n" not in message


@pytest.mark.parametrize("options", INVALID_OPTIONS.values(), ids=INVALID_OPTIONS)
def test_an_option_that_cannot_be_stored_is_refused_by_name(queue: Queue, options: dict[str, Any]) -> None:
    for message in refusals(queue, options):
        assert next(iter(options)) in message


def test_a_batch_names_the_position_of_the_job_that_is_refused(queue: Queue) -> None:
    specs = [JobSpec("test.ok", {}) for _ in range(100)]
    specs[42] = JobSpec("test.ok", {"name": "\udcff"})

    with pytest.raises(InvalidJob, match=r"^Job 42: payload .* surrogate"):
        queue.enqueue_many(specs)

    assert ProcessingJob.objects.count() == 0


def test_a_refusal_is_a_value_error_and_a_queue_error(queue: Queue) -> None:
    with pytest.raises(ValueError, match="payload") as refusal:
        queue.enqueue("test.ok", None)  # type: ignore[arg-type]  # on purpose

    assert isinstance(refusal.value, JobQueueError)


class Kind(StrEnum):
    OK = "test.ok"


class Level(IntEnum):
    HIGH = 9


def test_the_longest_and_oddest_values_that_are_allowed_are_stored_unchanged(queue: Queue) -> None:
    key = "🗝" * IDEMPOTENCY_KEY_MAX_LENGTH
    job = queue.enqueue(
        "ü" * 100, {"a": "\\u0000 \x01 \U0010ffff"}, idempotency_key=key, queue_name="\N{SNOWMAN}" * 100
    )

    stored = row(job)
    assert (stored.job_type, stored.queue_name, stored.idempotency_key) == ("ü" * 100, "\N{SNOWMAN}" * 100, key)
    assert stored.payload == {"a": "\\u0000 \x01 \U0010ffff"}


def test_members_of_enumerations_are_stored_as_their_values(queue: Queue) -> None:
    named = queue.enqueue_many(
        [JobSpec(Kind.OK, {"kind": Kind.OK}, priority=Level.HIGH), JobSpec("test.ok", {}, queue_name=Kind.OK)]
    )

    first, second = (row(job) for job in named)
    assert (first.job_type, first.payload, first.priority) == ("test.ok", {"kind": "test.ok"}, 9)
    assert second.queue_name == "test.ok"


@pytest.mark.parametrize("worker", ["", "w" * 201, "w\0", "w\ud800", None])
def test_a_worker_that_cannot_be_named_is_refused_before_any_statement(
    queue: Queue, worker: Any, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0), pytest.raises(InvalidJob, match="worker_id"):
        queue.dequeue(worker)


@pytest.mark.parametrize("limit", [0, -1, 100_001, True, "3"])
def test_a_limit_that_makes_no_sense_is_refused(queue: Queue, limit: Any) -> None:
    with pytest.raises(InvalidJob, match="limit"):
        queue.dequeue_many("w1", limit)


@pytest.mark.parametrize("stale_after", [timedelta(0), timedelta(seconds=-1)])
def test_a_lock_can_not_be_stale_from_the_start(stale_after: timedelta) -> None:
    with pytest.raises(ValueError, match="stale_lock_after"):
        Queue(stale_lock_after=stale_after)
