"""Traces of a part's way, taken by a collector that speaks OpenTelemetry's own protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.process.telemetry.otlp import ENDPOINT
from cauce.process.telemetry.traces import PartName, open_traces
from tests.service.collector import Collector
from tests.service.conftest import Case
from tests.service.running import Running, until

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.trace.v1.trace_pb2 import Span


def attributes(span: Span) -> dict[str, object]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_every_part_is_one_trace_from_its_reception_to_its_reading(
    tmp_path: Path, case: Case, collector: Collector
) -> None:
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1") as service:
        service.create("traced", queries=["q1", "q2"])
        pieces = [piece for piece in case.pieces if piece.table == "books"]
        service.upload("traced", pieces)
        service.wait_done("traced")
        until("all is told", lambda: len(collector.spans) >= 2 * len(pieces))
    received = {span.trace_id: span for process, span in collector.spans if span.name == "receive part"}
    read = [(process, span) for process, span in collector.spans if span.name == "read part"]
    assert {process for process, _ in collector.spans} == {"cauce gateway", "cauce worker"}
    assert len(received) == len(pieces)
    assert {attributes(span)["cauce.part"] for span in received.values()} == {piece.seq for piece in pieces}
    assert sum(int(str(attributes(span)["cauce.bytes"])) for span in received.values()) == sum(
        len(piece.body) for piece in pieces
    )
    for process, span in read:
        root = received[span.trace_id]
        assert process == "cauce worker"
        assert span.parent_span_id == root.span_id
        assert root.parent_span_id == b""
        assert attributes(span)["cauce.part"] == attributes(root)["cauce.part"]
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert len(read) == len(pieces)


def test_a_part_is_called_the_same_everywhere() -> None:
    one, same, other = PartName("o.j", "t", 1), PartName("o.j", "t", 1), PartName("o.j", "t", 2)
    assert (one.trace_id, one.root_id) == (same.trace_id, same.root_id)
    assert one.trace_id != other.trace_id
    assert one.trace_id < 2**128


def test_without_the_variable_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    assert open_traces("gateway") is None


def test_a_missing_package_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(UsageError, match=r"cauce\[traces\]"):
        open_traces("gateway")
