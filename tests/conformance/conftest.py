from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.fabric.contract import Fabric
from tests.conformance.worlds import WORLDS, FilesWorld, MemoryWorld, RabbitWorld, World


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = make_world(request, tmp_path)
    yield made
    made.close()


def make_world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "rabbitmq":
        # Requested here only: without RabbitMQ the other fabrics are still tested.
        return RabbitWorld(request.getfixturevalue("broker").address)
    return MemoryWorld(tmp_path) if request.param == "memory" else FilesWorld(tmp_path)


@pytest.fixture
def one(world: World) -> Fabric:
    """A process, with a job `j` created."""
    fabric = world.process()
    fabric.create_job("j", b"manifest")
    return fabric


@pytest.fixture
def other(one: Fabric, world: World) -> Fabric:
    """Another process, after the job `j` was created."""
    return world.process()
