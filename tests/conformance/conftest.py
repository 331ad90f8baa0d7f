from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.fabric.contract import Fabric
from tests.conformance.worlds import WORLDS, World


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = WORLDS[request.param](tmp_path)
    yield made
    made.close()


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
