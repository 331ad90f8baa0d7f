"""Exports metrics of a Prometheus registry with OpenTelemetry, in a thread of its own.

The names are those of Prometheus without `_total`. Values are those of this process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cauce.process.telemetry.otlp import is_enabled, loading, resource_of

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, MetricsData
    from prometheus_client.metrics_core import Metric as Family
    from prometheus_client.samples import Sample

INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
"""OpenTelemetry's own variable, in milliseconds."""
DEFAULT_INTERVAL_MS = 60_000
_CLOSE_S = 1.0

Collect = Callable[[], Iterable["Family"]]


class MetricExport:
    def __init__(self, process: str, collect: Collect) -> None:
        with loading("metrics"):
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            self._exporter = OTLPMetricExporter()
            self._resource = resource_of(process)
        self._collect = collect
        self._started_ns = time.time_ns()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metric export", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        interval_s = _interval_ms() / 1000
        while not self._closed.wait(interval_s):
            self.export()
        self.export()

    def export(self) -> None:
        self._exporter.export(self._data())

    def _data(self) -> MetricsData:
        from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        metrics = metrics_of(self._collect(), self._started_ns, time.time_ns())
        scope = ScopeMetrics(InstrumentationScope("cauce"), metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def close(self) -> None:
        """Exports the last values, for a second at most."""
        self._closed.set()
        self._thread.join(_CLOSE_S)


def open_metric_export(process: str, collect: Collect) -> MetricExport | None:
    """None if metrics are not enabled."""
    return MetricExport(process, collect) if is_enabled("metrics") else None


def metrics_of(families: Iterable[Family], started_ns: int, now_ns: int) -> list[Metric]:
    """The metrics that have a value."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Histogram, Metric, NumberDataPoint, Sum

    def points(family: Family, name: str) -> list[NumberDataPoint]:
        return [
            NumberDataPoint(dict(each.labels), started_ns, now_ns, each.value)
            for each in family.samples
            if each.name == name
        ]

    cumulative = AggregationTemporality.CUMULATIVE
    found: list[Metric] = []
    for family in families:
        data: Any
        if family.type == "counter":
            data = Sum(points(family, f"{family.name}_total"), cumulative, is_monotonic=True)
        elif family.type == "histogram":
            data = Histogram(_histograms(family, started_ns, now_ns), cumulative)
        else:
            data = Gauge(points(family, family.name))
        if data.data_points:
            found.append(Metric(family.name, family.documentation, "", data))
    return found


def _histograms(family: Family, started_ns: int, now_ns: int) -> list[Any]:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    series: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        series.setdefault(labels, []).append(sample)
    found: list[HistogramDataPoint] = []
    for labels, samples in series.items():
        buckets = [(float(each.labels["le"]), int(each.value)) for each in samples if "le" in each.labels]
        bounds = [bound for bound, _ in buckets if bound != float("inf")]
        totals = [0, *(count for _, count in buckets)]
        counts = [after - before for before, after in pairwise(totals)]
        (total,) = (each.value for each in samples if each.name == f"{family.name}_sum")
        found.append(
            HistogramDataPoint(
                dict(labels), started_ns, now_ns, totals[-1], total, counts, bounds, min=float("inf"), max=float("-inf")
            )
        )
    return found


def _interval_ms() -> float:
    with suppress(ValueError):
        return max(float(os.environ.get(INTERVAL) or DEFAULT_INTERVAL_MS), 1.0)
    return DEFAULT_INTERVAL_MS
