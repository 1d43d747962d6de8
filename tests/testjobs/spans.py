"""What a project does to have its spans written: here into a file, a line of JSON each."""

from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter


def write_spans(path: str) -> None:
    provider = TracerProvider()
    out = Path(path).open("a")  # noqa: SIM115 - as long as the process
    exporter = ConsoleSpanExporter(out=out, formatter=lambda span: f"{span.to_json(indent=None)}\n")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
