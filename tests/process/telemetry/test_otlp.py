"""Which signals the variables of OpenTelemetry enable, and that it is not loaded without them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram

from cauce.process.telemetry.otlp import is_enabled

pytest.importorskip("opentelemetry.sdk")

from cauce.process.telemetry.metric_export import metrics_of

PROGRAM = """
import sys
from cauce.gateway.metrics import Metrics
from cauce.process.telemetry.logs import start_logs
from cauce.process.telemetry.metric_export import open_metric_export
from cauce.process.telemetry.traces import open_traces
start_logs("gateway").info("told")
assert open_traces("gateway") is None
assert open_metric_export("gateway", Metrics().collect) is None
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


@pytest.fixture(autouse=True)
def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def test_nothing_is_loaded_without_the_variables() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("variables", "enabled"),
    [
        ({}, set()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, {"traces", "metrics", "logs"}),
        ({"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x"}, {"logs"}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_METRICS_EXPORTER": "none"}, {"traces", "logs"}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, set()),
    ],
)
def test_signals_are_enabled_by_the_standard_variables(
    variables: dict[str, str], enabled: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert {signal for signal in ("traces", "metrics", "logs") if is_enabled(signal)} == enabled  # type: ignore[arg-type]


def test_metrics_keep_their_values() -> None:
    registry = CollectorRegistry()
    Counter("parts", "Parts", ("outcome",), registry=registry).labels("new").inc(3)
    seconds = Histogram("seconds", "Time", buckets=(1.0, 2.0), registry=registry)
    for value in (0.5, 1.5, 1.7, 9.0):
        seconds.observe(value)
    parts, histogram = metrics_of(registry.collect(), 1, 2)
    (point,) = parts.data.data_points
    assert (parts.name, point.value, dict(point.attributes or {})) == ("parts", 3.0, {"outcome": "new"})
    (bars,) = histogram.data.data_points
    assert (list(bars.bucket_counts), list(bars.explicit_bounds)) == ([1, 2, 1], [1.0, 2.0])
    assert (bars.count, bars.sum) == (4, 12.7)
