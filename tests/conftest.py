"""Settings for all tests: one thread for each library, since the tests run side by side."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.brokers", "tests.fabrics", "tests.power"]

TESTS = Path(__file__).parent
REAL_THINGS = (
    "bench/",
    "chaos/",
    "cli/lab/test_broker",
    "cli/remote/test_cluster_commands",
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
"""Directories whose tests start services, brokers and browsers. Tests marked `quick` there run in every round."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        real = str(item.path.relative_to(TESTS)).startswith(REAL_THINGS)
        if real and item.get_closest_marker("quick") is None:
            item.add_marker(pytest.mark.slow)
