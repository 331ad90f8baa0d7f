"""Optional OpenTelemetry traces of parts.

Each process exports its own spans. The trace id is derived from the part's name, so that no trace context travels with
the data. OpenTelemetry is loaded only if traces are enabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from cauce.process.telemetry.otlp import is_enabled, loading, resource_of

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

_FLUSH_MS = 1000


@dataclass(frozen=True)
class PartName:
    job: str
    table: str
    seq: int

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(f"{self.job}\0{self.table}\0{self.seq}".encode(), digest_size=24, person=b"cauce part").digest()

    @property
    def trace_id(self) -> int:
        return int.from_bytes(self._digest[:16], "big") or 1

    @property
    def root_id(self) -> int:
        """The id of the part's root span: its reception."""
        return int.from_bytes(self._digest[16:], "big") or 1


class Traces:
    def __init__(self, process: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._ids = _ids()
        self._provider = TracerProvider(id_generator=self._ids, resource=resource_of(process), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("cauce")

    def received(self, part: PartName, start_s: float, end_s: float, size: int) -> None:
        """Exports the root span of a part: the gateway has appended it to the log."""
        from opentelemetry.context import Context

        self._ids.expect(part.trace_id, part.root_id)
        self._export("receive part", Context(), part, start_s, end_s, {"cauce.bytes": size})

    def read(self, part: PartName, stage: str, start_s: float, end_s: float, rows: int) -> None:
        from opentelemetry.trace import NonRecordingSpan, set_span_in_context

        context = set_span_in_context(NonRecordingSpan(_root_of(part)))
        self._export("read part", context, part, start_s, end_s, {"cauce.rows": rows, "cauce.stage": stage})

    def _export(
        self, name: str, context: Any, part: PartName, start_s: float, end_s: float, more: Mapping[str, int | str]
    ) -> None:
        named: dict[str, int | str] = {"cauce.job": part.job, "cauce.table": part.table, "cauce.part": part.seq}
        span = self._tracer.start_span(name, context, attributes={**named, **more}, start_time=int(start_s * 1e9))
        span.end(int(end_s * 1e9))

    def close(self) -> None:
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()


def open_traces(process: str) -> Traces | None:
    """None if traces are not enabled."""
    if not is_enabled("traces"):
        return None
    with loading("traces"):
        return Traces(process)


def _root_of(part: PartName) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(part.trace_id, part.root_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _ids() -> Any:
    from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator

    class Ids(IdGenerator):
        """Random ids, except for root spans, whose ids are derived from the part. Not thread-safe."""

        def __init__(self) -> None:
            self._random = RandomIdGenerator()
            self._expected: tuple[int, int] | None = None

        def expect(self, trace_id: int, span_id: int) -> None:
            self._expected = (trace_id, span_id)

        def generate_trace_id(self) -> int:
            return self._expected[0] if self._expected is not None else self._random.generate_trace_id()

        def generate_span_id(self) -> int:
            expected, self._expected = self._expected, None
            return expected[1] if expected is not None else self._random.generate_span_id()

    return Ids()
