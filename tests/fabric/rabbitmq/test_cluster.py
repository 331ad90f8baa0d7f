"""Three nodes, of which any one may crash: confirmed records are read, and work continues."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from cauce.fabric.address import parse
from cauce.fabric.contract import START, Position
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.records import Record
from cauce.lab.broker.nodes import Nodes
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.rabbit import in_own_namespace

PATIENCE_S = 90.0


@pytest.fixture
def pair(fragile_cluster: Nodes) -> Iterator[tuple[RabbitFabric, RabbitFabric]]:
    """Two fabrics on a cluster, with a job `j`."""
    broker = parse(in_own_namespace(fragile_cluster.address))
    one, other = RabbitFabric(broker, PATIENCE_S), RabbitFabric(broker, PATIENCE_S)
    one.create_job("j", b"")
    yield one, other
    fragile_cluster.start()
    other.delete_job("j")
    one.close()
    other.close()


@pytest.mark.soak
def test_nothing_is_lost_when_nodes_crash_one_after_another(
    pair: tuple[RabbitFabric, RabbitFabric], fragile_cluster: Nodes
) -> None:
    one, other = pair
    over = threading.Event()

    def spoil() -> None:
        for name in fragile_cluster.names:
            fragile_cluster.kill(name)
            fragile_cluster.start()
        over.set()

    killer = threading.Thread(target=spoil)
    killer.start()
    position: Position = START
    found: list[Record] = []
    count = 0
    while not over.is_set():
        one.append_all("j", [(Log("log"), data(0, count)), (Log("group", "log"), data(1, count))])
        more, position = drain(other, "j", Log("log"), position)
        found += more
        count += 1
    killer.join()
    assert count > 10
    assert set(names(found)) == {(0, seq) for seq in range(count)}
    assert set(names(drain(other, "j", Log("group", "log"))[0])) == {(1, seq) for seq in range(count)}


@pytest.mark.soak
def test_leases_and_jobs_survive_the_crash_of_a_node(
    pair: tuple[RabbitFabric, RabbitFabric], fragile_cluster: Nodes
) -> None:
    one, other = pair
    tasks = [f"t{number}" for number in range(6)]
    one.enqueue("j", "q", tasks)
    finished = []
    for name in fragile_cluster.names:
        took(one, patience_s=PATIENCE_S)
        fragile_cluster.kill(name)
        one.create_job(f"job-{name}", b"")
        lease = took(other, patience_s=PATIENCE_S)
        finished.append(lease.task)
        lease.complete()
        fragile_cluster.start()
        wait_until_whole(fragile_cluster, one._broker.namespace)
    other.read_barrier()
    assert other.jobs() == ["j", *(f"job-{name}" for name in fragile_cluster.names)]
    for name in fragile_cluster.names:
        one.delete_job(f"job-{name}")
    one.close()
    while len(set(finished)) < len(tasks):
        lease = took(other, patience_s=PATIENCE_S)
        finished.append(lease.task)
        lease.complete()
    assert set(finished) == set(tasks)


def wait_until_whole(nodes: Nodes, namespace: str) -> None:
    """Waits for replicas: killing the next node before this one has its replicas would lose the majority."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        listed = nodes.ctl(nodes.names[0], "list_queues", "--quiet", "--no-table-headers", "name", "online")
        ours = [line for line in listed.splitlines() if line.startswith(namespace)]
        if ours and all(line.count("@") == len(nodes.names) for line in ours):
            return
        assert time.monotonic() < deadline, listed
        time.sleep(0.5)
