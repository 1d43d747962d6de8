"""Tracing: which spans there are, what links them, and what never stands in them."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from jobqueue import tracing
from jobqueue.conf import conf
from jobqueue.exceptions import InvalidJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.testing import run_jobs
from tests.jobqueue import conftest
from tests.jobqueue.workers import BothTenants
from tests.testjobs import ledger, tasks


@cache
def _exporter() -> InMemorySpanExporter:
    """Set the SDK up, which a process can do once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[InMemorySpanExporter]:
    """What was exported since the test began, with tracing switched on."""
    monkeypatch.setenv(ledger.VARIABLE, str(tmp_path / "ledger"))
    settings.JOBQUEUE = settings.JOBQUEUE | {"TRACING": True}
    exporter = _exporter()
    exporter.clear()
    yield exporter
    exporter.clear()


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def named(span: ReadableSpan) -> str:
    """Return what a traceparent says of a span, without its flags."""
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"


def test_a_job_has_a_span_where_it_is_enqueued_and_one_around_its_handler_with_a_link(
    queue: Queue, tenant: str, spans: InMemorySpanExporter
) -> None:
    job = queue.enqueue("test.ok", {"secret": "hunter2"}, queue_name="slow")
    run_jobs()

    sent, handled = by_name(spans)["enqueue test.ok"], by_name(spans)["process test.ok"]
    common = {
        "messaging.system": "jobqueue",
        "messaging.destination.name": "slow",
        "messaging.message.id": str(job.pk),
        "jobqueue.job.type": "test.ok",
    }
    assert sent.kind is SpanKind.PRODUCER
    assert dict(sent.attributes or {}) == common | {
        "messaging.operation.type": "send",
        "messaging.operation.name": "enqueue",
    }
    assert handled.kind is SpanKind.CONSUMER
    assert dict(handled.attributes or {}) == common | {
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.client.id": "test",
        "jobqueue.job.attempt": 1,
        "jobqueue.tenant": tenant,
    }
    assert handled.parent is None
    assert [link.context.span_id for link in handled.links] == [sent.context.span_id]
    assert handled.status.status_code is StatusCode.UNSET
    assert "hunter2" not in "".join(span.to_json() for span in (sent, handled))


def test_a_batch_has_one_span_which_each_of_its_jobs_is_linked_with(queue: Queue, spans: InMemorySpanExporter) -> None:
    specs = [JobSpec("test.ok", {}), JobSpec("test.ok", {}, idempotency_key="k"), JobSpec("test.thread", {})]
    queue.enqueue_many(specs)
    run_jobs(job_types=["test.ok"])

    (sent,) = [span for span in spans.get_finished_spans() if span.kind is SpanKind.PRODUCER]
    handled = [span for span in spans.get_finished_spans() if span.kind is SpanKind.CONSUMER]
    assert sent.name == "enqueue"  # the types are several
    assert dict(sent.attributes or {})["messaging.batch.message_count"] == 3
    assert "messaging.message.id" not in (sent.attributes or {})
    assert [link.context.span_id for span in handled for link in span.links] == [sent.context.span_id] * 2


def test_many_jobs_are_linked_like_few(queue: Queue, spans: InMemorySpanExporter) -> None:
    queue.enqueue_many([JobSpec("test.ok", {})] * 100)
    (sent,) = spans.get_finished_spans()
    parents = {job.traceparent for job in queue.dequeue_many("w1", 100)}
    assert {parent[:-2] for parent in parents} == {named(sent)}


def test_what_the_handler_does_stands_in_its_span_also_on_an_event_loop(
    queue: Queue, spans: InMemorySpanExporter
) -> None:
    queue.enqueue("test.enqueue", {"key": "k", "then": "commit"})
    tasks.add_async.enqueue(1)
    with patch.object(tasks.ProcessingJob.objects, "acount", _in_a_span):
        run_jobs(job_types=["test.enqueue", "tests.testjobs.tasks.add_async"])

    found = by_name(spans)
    for inner, outer in (
        ("enqueue test.ok", "process test.enqueue"),
        ("of the handler's own", "process tests.testjobs.tasks.add_async"),
    ):
        parent = found[inner].parent
        assert parent, inner
        assert parent.span_id == found[outer].context.span_id


async def _in_a_span() -> int:
    with trace.get_tracer("test").start_as_current_span("of the handler's own"):
        return 1


def test_a_failure_is_told_by_its_class_alone(queue: Queue, spans: InMemorySpanExporter) -> None:
    tasks.fail.enqueue("the secret is hunter2")
    run_jobs(allow_failures=True)
    with pytest.raises(InvalidJob):
        queue.enqueue("test.ok", {"secret": object()})

    found = by_name(spans)
    for name, kind in (("process tests.testjobs.tasks.fail", "ValueError"), ("enqueue test.ok", "InvalidJob")):
        assert (found[name].status.status_code, found[name].status.description) == (StatusCode.ERROR, kind)
        assert (found[name].attributes or {})["error.type"] == kind
        assert not found[name].events
        assert "hunter2" not in found[name].to_json()


def test_a_replaced_job_is_linked_with_its_replacement(queue: Queue, spans: InMemorySpanExporter) -> None:
    first = queue.enqueue("test.ok", {}, idempotency_key="k")
    again = queue.enqueue("test.ok", {"n": 2}, idempotency_key="k", if_known="replace")
    _, sent = spans.get_finished_spans()
    assert again.pk == first.pk
    assert again.traceparent.startswith(named(sent))


def test_without_tracing_there_is_no_span_and_the_row_is_as_before(
    queue: Queue, spans: InMemorySpanExporter, settings: Any
) -> None:
    settings.JOBQUEUE = {key: value for key, value in settings.JOBQUEUE.items() if key != "TRACING"}
    with trace.get_tracer("test").start_as_current_span("of the caller's own"):
        job = queue.enqueue("test.ok", {})
        run_jobs()
    assert [span.name for span in spans.get_finished_spans()] == ["of the caller's own"]
    assert queue.get(job.pk).traceparent is None


def test_a_job_enqueued_without_tracing_has_a_span_without_a_link(
    queue: Queue, spans: InMemorySpanExporter, settings: Any
) -> None:
    traced = settings.JOBQUEUE
    settings.JOBQUEUE = traced | {"TRACING": False}
    queue.enqueue("test.ok", {})
    settings.JOBQUEUE = traced
    run_jobs()
    (handled,) = spans.get_finished_spans()
    assert (handled.name, handled.links) == ("process test.ok", ())


def test_a_broken_traceparent_hinders_nothing(queue: Queue, spans: InMemorySpanExporter) -> None:
    job = queue.enqueue("test.ok", {})
    type(job).objects.filter(pk=job.pk).update(traceparent="00-nonsense")
    (ran,) = run_jobs()
    assert ran.status == "succeeded"
    assert by_name(spans)["process test.ok"].links == ()


def test_the_missing_package_is_named(settings: Any) -> None:
    settings.JOBQUEUE = settings.JOBQUEUE | {"TRACING": True}
    with (
        patch("jobqueue.conf.find_spec", return_value=None),
        pytest.raises(ImproperlyConfigured, match=r"opentelemetry-api: pip install 'jobqueue\[opentelemetry\]'"),
    ):
        conf()


def test_a_worker_and_the_processes_of_its_isolated_handlers_send_their_spans(
    both: BothTenants, start: conftest.Start, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    both.enqueue("test.isolated")
    (sent, *_) = spans.get_finished_spans()
    file = tmp_path / "spans"
    worker = start("--drain", variables={"JOBQUEUE_TEST_ISOLATED": "yes", "JOBQUEUE_TEST_SPANS": str(file)})
    assert worker.status() == 0

    written = [json.loads(line) for line in file.read_text().splitlines()]
    handled = {span["context"]["span_id"]: span for span in written if span["name"] == "process test.isolated"}
    inner = [span for span in written if span["name"] == "enqueue test.noop"]
    assert len(handled) == len(inner) == 2
    assert {span["parent_id"] for span in inner} == set(handled)
    assert f"0x{sent.context.span_id:016x}" in {span["links"][0]["context"]["span_id"] for span in handled.values()}
    assert {span["attributes"]["jobqueue.tenant"] for span in handled.values()} == {"acme", "globex"}


def test_a_process_that_ends_sends_what_is_kept_and_an_exporter_in_trouble_keeps_nobody(
    spans: InMemorySpanExporter,
) -> None:
    with patch.object(type(trace.get_tracer_provider()), "force_flush", side_effect=OSError) as flush:
        tracing.flush()
    flush.assert_called_once_with(1_000)
