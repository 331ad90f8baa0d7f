"""RabbitMQ nodes for tests: started once for a run, shared by its processes, gone with the last of them.

`broker.address` is what a fabric is opened with; `broker.ctl("r1", …)` runs `rabbitmqctl`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cauce.errors import BrokerFailed
from cauce.fabric.rabbitmq.settings.findings import numbers
from cauce.fabric.rabbitmq.settings.required import WITHOUT_PARTITION_HANDLING
from cauce.lab.broker.installation import HOW_TO_INSTALL
from cauce.lab.broker.nodes import Nodes, start
from cauce.lab.broker.partitions import restart_partitioned
from cauce.lab.broker.releases import best
from tests.broker_guardian import become_user, guard

KHEPRI = "CAUCE_RABBITMQ_KHEPRI"
"""Set it to have nodes of 4.0 keep their metadata in Khepri, as later versions always do."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """One node, shared by tests: they must neither stop it nor leave anything in it."""
    with shared_nodes(tmp_path_factory, "broker", 1) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes, shared in the same way."""
    with shared_nodes(tmp_path_factory, "cluster", 3) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def _fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with shared_nodes(tmp_path_factory, "fragile", 3) as nodes:
        yield nodes


@pytest.fixture
def fragile_cluster(_fragile: Nodes) -> Iterator[Nodes]:
    """Three nodes to kill and pause, for one test at a time. They are repaired before the next test."""
    with (_fragile.place.folder.parent / "fragile.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        mend(_fragile)
        yield _fragile


def mend(nodes: Nodes) -> None:
    """Waits until all nodes run and answer, after any fault of the previous test."""
    for name in nodes.names:
        if nodes.pid(name) is not None:
            nodes.resume(name)
    nodes.start()
    if is_whole(nodes):
        return
    restart_partitioned(nodes)
    for name in nodes.names:
        nodes.ctl(name, "await_online_nodes", str(len(nodes.names)))


ALL_SEE_ALL = (
    "Members = rabbit_nodes:list_members(),"
    " lists:all(fun(Seen) -> is_list(Seen) andalso length(Seen) =:= length(Members) end,"
    " [rpc:call(Member, rabbit_nodes, list_running, [], 5000) || Member <- Members])."
)


def is_whole(nodes: Nodes) -> bool:
    """Whether every node sees all others run. One call: a start of `rabbitmqctl` takes a second of processor time."""
    try:
        return nodes.ctl(nodes.names[0], "eval", ALL_SEE_ALL).strip() == "true"
    except BrokerFailed:
        return False


def pauses_minorities(nodes: Nodes) -> bool:
    """Whether nodes that do not see a majority pause. With Khepri, and so since 4.3, they go on, but cannot change what
    needs a majority."""
    version = nodes.place.version_of(nodes.node(nodes.names[0]))
    return numbers(version or "") < WITHOUT_PARTITION_HANDLING and not os.environ.get(KHEPRI)


def store_metadata(nodes: Nodes) -> None:
    """Returns when all streams and queues that exist are on the disks of all nodes. Mnesia writes them late: if
    all nodes are killed before that, they are forgotten, with everything that was confirmed in them."""
    known: set[str] | None = None
    while pauses_minorities(nodes) and known != (found := _listed(nodes)):
        known = found
        for name in nodes.names:
            nodes.ctl(name, "eval", "ok = mnesia:sync_log().")


def _listed(nodes: Nodes) -> set[str]:
    return set(nodes.ctl(nodes.names[0], "list_queues", "name").split())


def use_khepri_if_chosen(nodes: Nodes) -> None:
    """Versions before 4.2 use Mnesia otherwise."""
    if os.environ.get(KHEPRI):
        nodes.ctl(nodes.names[0], "enable_feature_flag", "--opt-in", "khepri_db")


@contextmanager
def shared_nodes(factory: pytest.TempPathFactory, name: str, count: int) -> Iterator[Nodes]:
    require_rabbitmq()
    folder = common_folder(factory) / name
    with become_user(folder):
        yield _running(folder, count)


def _running(folder: Path, count: int) -> Nodes:
    """Starts the nodes if no other process of this run has."""
    with (folder / "start.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        guard(folder, folder / "nodes")
        nodes = start(folder / "nodes", count)
        use_khepri_if_chosen(nodes)
        return nodes


def common_folder(factory: pytest.TempPathFactory) -> Path:
    """A directory shared by all processes of this test run."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def require_rabbitmq() -> None:
    """Skips the test if RabbitMQ is not installed; in continuous integration it fails."""
    if best() is None:
        reason = f"RabbitMQ is not installed; {HOW_TO_INSTALL}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
