"""Settings for all tests: one thread for each library, since the tests run side by side."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Collected tests and loaded modules are never freed: garbage collection would take a third of the time to collect them.
gc.disable()

# On a loaded machine an example takes as long as it takes.
settings.register_profile("loaded", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

pytest_plugins = ["tests.brokers", "tests.fabrics", "tests.power"]

TESTS = Path(__file__).parent
REAL_THINGS = (
    "bench/",
    "chaos/",
    "cli/lab/test_broker",
    "cli/remote/test_cluster_commands",
    "cli/test_private_service",
    "cli/test_sql",
    "cli/test_two_runs",
    "client/test_commands",
    "client/test_real",
    "e2e/test_formats",
    "fabric/rabbitmq/",
    "gateway/test_forms",
    "gateway/test_hostile",
    "lab/broker/",
    "lab/deploy/",
    "service/",
    "terminal/test_commands",
    "terminal/test_interrupts",
    "terminal/test_terminal",
    "web/",
)
"""Directories and files whose tests start services, commands, brokers and browsers. Tests marked `quick` there run in
every round."""

HEAVY = (
    "client/test_upload",
    "e2e/test_generated",
    "e2e/test_large_broadcast",
    "e2e/test_memory_budget",
    "gateway/jobs/test_damaged_jobs",
    "gateway/jobs/test_tombstones",
    "gateway/jobs/test_uploads",
    "lab/test_generators",
    "scan/formats/test_arrow_columns",
    "scan/formats/test_parquet",
    "worker/memory/test_external_sort",
)
"""Further files that take seconds of processor time each: `./test quick` leaves them out."""


def pytest_configure(config: pytest.Config) -> None:
    # A shell ignores it in background jobs, and every process that a test starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Libraries report objects that are still there when the process exits.
    config.add_cleanup(gc.unfreeze)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        real = str(item.path.relative_to(TESTS)).startswith((*REAL_THINGS, *HEAVY))
        if real and item.get_closest_marker("quick") is None:
            item.add_marker(pytest.mark.slow)
    yield
    # Only now: the tests of other selections are gone.
    items[:] = long_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def long_first(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Puts long tests at the start of the share that each process begins with. A long test that started last would
    leave the other processes idle."""
    long = [item for item in items if item.get_closest_marker("long") is not None]
    others = [item for item in items if item.get_closest_marker("long") is None]
    ordered: list[pytest.Item] = []
    for process in range(processes):
        first = long[process::processes]
        size = max((len(items) - len(ordered)) // (processes - process) - len(first), 0)
        ordered += [*first, *others[:size]]
        del others[:size]
    return ordered


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
