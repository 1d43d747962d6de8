"""Properties of payloads: what is accepted comes back as it was; what is refused costs no statement."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobqueue.exceptions import InvalidJob
from jobqueue.json_values import MAX_DEPTH
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.jobs import row

many_examples = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

storable_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
storable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(storable_text, inner, max_size=4),
    max_leaves=15,
)
poison = st.sampled_from(["a\0", "\ud800", float("nan"), float("inf"), b"", {1}, object()])


def as_jsonb_keeps_it(value: Any) -> Any:
    """Numbers are decimals in jsonb: 1e23 comes back as the integer 10**23, -0.0 as 0.0, and both equal as floats."""
    if isinstance(value, dict):
        return {key: as_jsonb_keeps_it(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_jsonb_keeps_it(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return value


@many_examples
@given(payload=st.dictionaries(storable_text, storable, max_size=4))
@example(payload={"a": "\\u0000"})
@example(payload={"a": 1e23, "b": 5e-324, "c": -0.0, "d": 1.7976931348623157e308})
@example(payload={"": {"": {"": []}}})
def test_a_payload_that_is_accepted_comes_back_as_it_was(queue: Queue, payload: dict[str, Any]) -> None:
    job = queue.enqueue("test.ok", payload)

    assert as_jsonb_keeps_it(row(job).payload) == as_jsonb_keeps_it(payload)


@many_examples
@given(number=st.integers(-(10**1000), 10**1000))
def test_integers_of_any_size_come_back_exactly(queue: Queue, number: int) -> None:
    assert row(queue.enqueue("test.ok", {"number": number})).payload == {"number": number}


@st.composite
def poisoned(draw: st.DrawFn) -> dict[str, Any]:
    """A payload that is storable but for one value somewhere inside."""
    value = draw(poison)
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            value = [*draw(st.lists(storable, max_size=2)), value]
        else:
            value = draw(st.dictionaries(storable_text, storable, max_size=2)) | {draw(storable_text): value}
    return {draw(storable_text): value}


@many_examples
@given(payload=poisoned(), position=st.integers(0, 3))
def test_one_bad_value_anywhere_is_refused_before_any_statement(
    queue: Queue, payload: dict[str, Any], position: int
) -> None:
    specs = [JobSpec("test.ok", {}) for _ in range(4)]
    specs[position] = JobSpec("test.ok", payload)

    with CaptureQueriesContext(connection) as queries:
        with pytest.raises(InvalidJob, match=r"^payload"):
            queue.enqueue("test.ok", payload)
        with pytest.raises(InvalidJob, match=rf"^Job {position}: payload"):
            queue.enqueue_many(specs)

    assert len(queries) == 0
    assert not ProcessingJob.objects.exists()


def nested(levels: int) -> dict[str, Any]:
    value: Any = 0
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return {"a": value}


def test_a_payload_is_nested_no_deeper_than_anybody_can_read_it_again(queue: Queue) -> None:
    """A job that no worker can read would stop its queue for good."""
    job = queue.enqueue("test.ok", nested(MAX_DEPTH))
    for levels in (MAX_DEPTH + 1, 900, 100_000):
        with pytest.raises(InvalidJob, match="nested too deeply"):
            queue.enqueue("test.ok", nested(levels))

    def deeper(frames: int) -> ProcessingJob:
        return deeper(frames - 1) if frames else queue.dequeue("w1")

    assert deeper(500).payload == job.payload
