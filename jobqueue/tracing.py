"""OpenTelemetry: a span where jobs are enqueued, one around each handler, and a link from the latter to the former.

Nothing is imported unless ``JOBQUEUE["TRACING"]`` says so. Only the API is used: which spans are kept, and where they
go, is up to the SDK that the project sets up. Names are those of the semantic conventions for messaging, with the job
type where these have the destination, since a queue holds jobs of many types. No payload, result or message of an
exception gets into a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from jobqueue.conf import conf

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from jobqueue.models import ProcessingJob
    from jobqueue.specs import JobSpec

SYSTEM = "jobqueue"
#: The longest that a process waits at its end until its spans are away.
_FLUSH_MILLISECONDS = 1_000


class Tracked:
    """The work that a span is about. Without a span, nobody hears what is told."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    def is_about(self, jobs: Sequence[ProcessingJob]) -> None:
        """Name the job that came of it, if it is one."""
        if self._span and len(jobs) == 1:
            self._span.set_attribute("messaging.message.id", str(jobs[0].pk))

    def failed(self, kind: str) -> None:
        """Note the class of an exception: its message may hold what is nobody's business."""
        if self._span:
            _fail(self._span, kind)


_UNTRACED = Tracked()


def is_on() -> bool:
    """Return whether there are spans."""
    return conf().tracing


def enqueueing(specs: Sequence[JobSpec]) -> AbstractContextManager[Tracked]:
    """Return the span of a call that enqueues these, one for all of them; meanwhile ``traceparent`` names it."""
    return _sending(specs) if is_on() else nullcontext(_UNTRACED)


@contextmanager
def processing(job: ProcessingJob, tenant: str) -> Iterator[Tracked]:
    """Open the span of an attempt. Its parent is what runs already: in a worker, nothing does. Needs that it is on."""
    from opentelemetry.trace import Link, SpanKind, get_current_span

    attributes: dict[str, Any] = {
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.message.id": str(job.pk),
        "messaging.client.id": job.locked_by or "",
        "jobqueue.job.attempt": job.attempts,
    }
    if tenant:
        attributes["jobqueue.tenant"] = tenant
    # A link and no parent: the one who enqueued has long gone on, and attempts may be many.
    sender = get_current_span(_context_of(job.traceparent)).get_span_context() if job.traceparent else None
    links = [Link(sender)] if sender and sender.is_valid else []
    with _span("process", job.job_type, job.queue_name, SpanKind.CONSUMER, attributes, links) as span:
        yield Tracked(span)


def traceparent() -> str | None:
    """Return the present span as W3C's trace context writes it, 55 characters; None if there is none."""
    if not is_on():
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


@contextmanager
def inside(parent: str | None) -> Iterator[None]:
    """Let the spans of this process stand in one of another's; None: in none."""
    if parent is None:
        yield
        return
    from opentelemetry import context

    token = context.attach(_context_of(parent))
    try:
        yield
    finally:
        context.detach(token)


def flush() -> None:
    """Send off what is kept to be sent later, where a process ends without a good-bye; wait for a second at most."""
    if not is_on():
        return
    from opentelemetry import trace

    if send := getattr(trace.get_tracer_provider(), "force_flush", None):  # the SDK's; the API has none
        with suppress(Exception):
            send(_FLUSH_MILLISECONDS)


@contextmanager
def _sending(specs: Sequence[JobSpec]) -> Iterator[Tracked]:
    from opentelemetry.trace import SpanKind

    attributes: dict[str, Any] = {"messaging.operation.type": "send", "messaging.operation.name": "enqueue"}
    if len(specs) != 1:
        attributes["messaging.batch.message_count"] = len(specs)
    job_type = _only({spec.job_type for spec in specs})
    with _span("enqueue", job_type, _only({spec.queue_name for spec in specs}), SpanKind.PRODUCER, attributes) as span:
        try:
            yield Tracked(span)
        except BaseException as error:
            _fail(span, type(error).__name__)
            raise


def _span(
    operation: str, job_type: str, queue_name: str, kind: Any, attributes: dict[str, Any], links: Sequence[Any] = ()
) -> AbstractContextManager[Span]:
    attributes["messaging.system"] = SYSTEM
    if queue_name:
        attributes["messaging.destination.name"] = queue_name
    if job_type:
        attributes["jobqueue.job.type"] = job_type
    return _tracer().start_as_current_span(
        f"{operation} {job_type}".rstrip(),
        kind=kind,
        attributes=attributes,
        links=links,
        record_exception=False,
        set_status_on_exception=False,
    )


def _fail(span: Span, kind: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR, kind)


def _context_of(parent: str) -> Any:
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent}, Context())


def _only(values: set[str]) -> str:
    """Return what all have, or nothing."""
    return next(iter(values)) if len(values) == 1 else ""


@cache
def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer("jobqueue")
