from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cauce.fabric.address import parse
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.lab.broker.nodes import Nodes
from tests.brokers import shared_nodes
from tests.fabric.children import Child, ready
from tests.fabric.proxy import Proxy
from tests.fabric.rabbit import in_own_namespace, remove_namespace


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[FilesFabric]:
    """A fabric with a job `j`."""
    made = FilesFabric(tmp_path)
    made.create_job("j", b"{}")
    yield made
    made.close()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[], Child]]:
    """Starts processes on the same directory and stops them after the test."""
    started: list[Child] = []

    def start() -> Child:
        made = Child(tmp_path)
        started.append(made)
        made.ask(ready)
        return made

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def namespace(broker: Nodes) -> Iterator[str]:
    """The address of a private namespace on the shared broker, removed after the test."""
    address = in_own_namespace(broker.address)
    yield address
    remove_namespace(address)


@pytest.fixture
def rabbit(namespace: str) -> Iterator[Callable[[], RabbitFabric]]:
    """Opens fabrics on that namespace."""
    opened: list[RabbitFabric] = []

    def start() -> RabbitFabric:
        opened.append(RabbitFabric(parse(namespace)))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def proxy(namespace: str) -> Iterator[Proxy]:
    made = Proxy(*parse(namespace).servers[0])
    yield made
    made.close()


@pytest.fixture(scope="session")
def _stressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with shared_nodes(tmp_path_factory, "stressed", 1) as nodes:
        # A node persists its stream metadata some time after its first stream; a kill before that loses it.
        RabbitFabric(parse(in_own_namespace(nodes.address))).close()
        time.sleep(5.0)
        yield nodes


@pytest.fixture
def stressed(_stressed: Nodes) -> Iterator[Nodes]:
    """A node whose settings one test may change."""
    with (_stressed.place.folder.parent / "stressed.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield _stressed
