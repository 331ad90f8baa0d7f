"""Metrics and logs of a real gateway, taken by a collector that speaks OpenTelemetry's own protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.service.collector import Collector
from tests.service.running import Running, until

pytestmark = pytest.mark.slow


def test_gateway_exports_its_metrics_and_logs(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    with Running(tmp_path, "gateway") as gateway:
        for _ in range(3):
            assert gateway.get("/v1/jobs/gone").status == 404
        until("requests are counted", lambda: counted(collector) >= 3)
    assert {name for name, _ in collector.metrics} == {name for name, _ in collector.logs} == {"shop"}
    (histogram,) = [metric for _, metric in collector.metrics if metric.name == "cauce_request_seconds"][-1:]
    for point in histogram.histogram.data_points:
        assert (len(point.bucket_counts), sum(point.bucket_counts)) == (len(point.explicit_bounds) + 1, point.count)
    assert any(metric.HasField("gauge") and metric.name == "cauce_open_requests" for _, metric in collector.metrics)
    events = {record.body.string_value: record for _, record in collector.logs}
    assert {"gateway started", "request refused", "gateway stopped"} <= set(events)
    refused = {each.key: each.value for each in events["request refused"].attributes}
    assert (refused["cauce.status"].int_value, refused["cauce.role"].string_value) == (404, "gateway")
    assert events["gateway started"].severity_text == "INFO"


def counted(collector: Collector) -> float:
    """The requests in the newest value."""
    found = [metric for _, metric in list(collector.metrics) if metric.name == "cauce_requests"]
    if not found:
        return 0
    assert found[-1].sum.is_monotonic
    return sum(
        point.as_double
        for point in found[-1].sum.data_points
        if any(each.key == "status" and each.value.string_value == "404" for each in point.attributes)
    )


def test_unreachable_collector_is_a_structured_warning_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Running(tmp_path, "gateway") as gateway:
        until("the failure is logged", lambda: bool(gateway.events("telemetry cannot be exported")))
        assert gateway.get("/readyz").status == 200
    assert [line for line in gateway.log_text().splitlines() if not isinstance(json.loads(line), dict)] == []
