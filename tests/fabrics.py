"""Command options for tests that run on both fabrics."""

from __future__ import annotations

import time

import pytest

from cauce.lab.broker.nodes import Nodes


@pytest.fixture
def fabric(request: pytest.FixtureRequest) -> list[str]:
    """None for `files`; for `rabbitmq` the address of a node, with a namespace for this test."""
    if request.param == "files":
        return []
    broker: Nodes = request.getfixturevalue("broker")
    return ["--fabric", f"{broker.address}?namespace={new_namespace()}"]


def new_namespace() -> str:
    return f"test-{time.time_ns():x}"
