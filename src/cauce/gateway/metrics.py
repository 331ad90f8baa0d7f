"""Prometheus metrics of a gateway. Gateways that share a port each export the metrics of all, through the folder that
PROMETHEUS_MULTIPROC_DIR names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from cauce.api.jobs import State
from cauce.gateway.jobs.statuses import Figures

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Must be set before prometheus_client is imported."""

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "cauce_requests", "Requests answered", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "cauce_request_seconds", "Time to answer", ("route",), buckets=_SECONDS, registry=self._registry
        )
        self.received = Counter("cauce_received_bytes", "Bytes of bodies received", registry=self._registry)
        self.parts = Counter("cauce_parts", "Parts accepted", ("outcome",), registry=self._registry)
        self.events = Counter("cauce_job_events", "Events of jobs", ("event",), registry=self._registry)
        self.open = Gauge(
            "cauce_open_requests", "Requests open now", registry=self._registry, multiprocess_mode="livesum"
        )
        self.body_bytes = Gauge(
            "cauce_body_bytes",
            "Bytes buffered for request bodies now",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.waiting = Gauge(
            "cauce_pool_waiting", "Steps that wait for a thread", registry=self._registry, multiprocess_mode="livesum"
        )
        self.jobs = self._latest("cauce_jobs", "Jobs on the fabric")
        self._states = self._latest("cauce_jobs_in_state", "Jobs on the fabric by state", ("state",))
        self._rows = self._latest("cauce_rows_read", "Rows read for the jobs on the fabric")
        self._rejects = self._latest("cauce_rejects", "Rejects of the jobs on the fabric")
        self._held = self._latest("cauce_held_bytes", "Bytes of parts stored for open jobs")
        self._backlog = self._latest("cauce_backlog_bytes", "Bytes of parts not yet read by workers")
        self._task_memory = self._latest("cauce_task_memory_bytes", "Input that tasks of open jobs hold in memory")
        self._spilled = self._latest("cauce_spilled_bytes", "Bytes that tasks of open jobs wrote to temporary files")

    def _latest(self, name: str, description: str, labels: tuple[str, ...] = ()) -> Gauge:
        """A gauge of shared state: the most recent value of any gateway is exported."""
        return Gauge(name, description, labels, registry=self._registry, multiprocess_mode="livemostrecent")

    def show(self, figures: Figures) -> None:
        self.jobs.set(figures.states.total())
        for state in get_args(State):
            self._states.labels(state).set(figures.states[state])
        self._rows.set(figures.rows)
        self._rejects.set(figures.rejects)
        self._held.set(figures.held_bytes)
        self._backlog.set(figures.waiting_bytes)
        self._task_memory.set(figures.task_memory_bytes)
        self._spilled.set(figures.spilled_bytes)

    def collect(self) -> Iterable[Metric]:
        """The metrics of this process alone."""
        return self._registry.collect()

    def text(self) -> bytes:
        registry = self._registry
        if FOLDER_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_process(pid: int) -> None:
    """Drops the live gauges of an exited gateway; its counters stay."""
    if FOLDER_VARIABLE in os.environ:
        # Another doctor may do the same now, or the service is being removed.
        with suppress(FileNotFoundError):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
