"""Where a test over both fabrics runs: the options that a command needs for each."""

from __future__ import annotations

import time

import pytest

from cauce.broker.nodes import Nodes


@pytest.fixture
def fabric(request: pytest.FixtureRequest) -> list[str]:
    """Of `files` none; of `rabbitmq` the address of a node, with a namespace that no other test uses."""
    if request.param == "files":
        return []
    broker: Nodes = request.getfixturevalue("broker")
    return ["--fabric", f"{broker.address}?namespace={new_namespace()}"]


def new_namespace() -> str:
    return f"test-{time.time_ns():x}"
