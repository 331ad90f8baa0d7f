"""No process uses a node that came back partitioned from its cluster; work continues on the others."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from cauce.errors import FabricLost
from cauce.fabric.address import parse
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.connection.amqp import Connection
from cauce.fabric.rabbitmq.connection.split_brain_probe import SplitBrain, SplitBrainProbe
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.settings.required import DEVELOPED_FOR, WITHOUT_SPLIT_METADATA
from cauce.lab.broker.nodes import Nodes
from cauce.lab.broker.partitions import is_apart
from cauce.lab.broker.releases import choose
from tests.conformance.worlds import data, drain, jobs_seen_by, names
from tests.fabric.rabbit import in_own_namespace
from tests.service.running import until

APART = "r2"
TIMES = 6


def checked(address: str, server: tuple[str, int]) -> None:
    """Connects to a server and probes it."""
    broker = parse(address)
    connection = Connection(broker, server, "cauce test")
    connection.connect()
    try:
        SplitBrainProbe(broker).check(connection)
    finally:
        connection.collect()


def test_nodes_of_a_healthy_cluster_pass(cluster: Nodes) -> None:
    address = in_own_namespace(cluster.address)
    for server in parse(address).servers:
        checked(address, server)
    assert "trial" not in cluster.ctl("r1", "list_queues", "name")


def test_a_server_passes_if_no_other_can_be_reached(cluster: Nodes, broker: Nodes) -> None:
    """One refuses the login, and one does not listen."""
    known = parse(cluster.address)
    host, port = known.servers[0]
    stranger = parse(broker.address).servers[0]
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        others = f"{stranger[0]}:{stranger[1]},127.0.0.1:{deaf.getsockname()[1]}"
        checked(f"amqp://{known.user}:{known.password}@{host}:{port},{others}/%2F", (host, port))


def stays_apart(nodes: Nodes) -> bool:
    """Whether a node that was resumed is apart within some time. Before version 4 it always is."""
    deadline = time.monotonic() + (20.0 if choose().version >= DEVELOPED_FOR else 60.0)
    while not is_apart(nodes, APART):
        if time.monotonic() > deadline:
            assert choose().version >= DEVELOPED_FOR
            return False
        time.sleep(0.2)
    return True


@pytest.fixture
def split(fragile_cluster: Nodes) -> Iterator[Nodes]:
    """One node that was partitioned for long and was not restarted."""
    nodes = fragile_cluster
    if choose().version >= WITHOUT_SPLIT_METADATA:
        pytest.skip("from this version on a node cannot return with metadata of its own, and none is probed")
    handling = "application:set_env(rabbit, cluster_partition_handling, {}), ok."
    for name in nodes.names:
        nodes.ctl(name, "eval", handling.format("ignore"))
    nodes.pause(APART)
    others = [name for name in nodes.names if name != APART]
    seen = (
        "case erlang:function_exported(rabbit_nodes, list_running, 0) of "
        "true -> length(rabbit_nodes:list_running()); false -> length(rabbit_nodes:all_running()) end."
    )
    until("its being missed", lambda: all(nodes.ctl(each, "eval", seen).strip() == "2" for each in others), 60.0)
    nodes.resume(APART)
    if not stays_apart(nodes):
        pytest.skip("RabbitMQ 4 lets the node rejoin by itself")
    yield nodes
    for name in others:
        nodes.ctl(name, "eval", handling.format("pause_minority"))
    nodes.kill(APART)
    nodes.start_again(APART)


def ports_in_use(nodes: Nodes) -> set[int]:
    """The ports of servers to which processes of Cauce are connected. A node lists the connections of all nodes that it
    is linked with: since version 4 also one that is partitioned."""
    listed = [nodes.ctl(name, "list_connections", "port", "client_properties") for name in nodes.names]
    rows = [line.split("\t", 1) for each in listed for line in each.splitlines() if "cauce" in line]
    return {int(port) for port, _ in rows}


@pytest.mark.soak
def test_a_partitioned_node_is_not_used(split: Nodes) -> None:
    address = in_own_namespace(split.address)
    servers = dict(zip(split.names, parse(address).servers, strict=True))
    with pytest.raises(SplitBrain, match=f"the node at {servers[APART][0]}:{servers[APART][1]} and the others"):
        checked(address, servers[APART])
    for name, server in servers.items():
        if name != APART:
            checked(address, server)
    # The first server is chosen at random.
    fabrics = [RabbitFabric(parse(address), 30.0) for _ in range(TIMES)]
    for number, fabric in enumerate(fabrics):
        fabric.create_job(f"j{number}", b"")
        fabric.append(f"j{number}", Log("log"), data(number, 0))
    for number, fabric in enumerate(fabrics):
        assert sorted(jobs_seen_by(fabric)) == [f"j{each}" for each in range(TIMES)]
        writer = (number + 1) % TIMES
        assert names(drain(fabric, f"j{writer}", Log("log"))[0]) == [(writer, 0)]
    used = ports_in_use(split)
    assert servers[APART][1] not in used, "somebody works with it"
    assert used <= {port for _, port in servers.values()}
    assert used, "the connections of the fabrics are not listed"
    for number, fabric in enumerate(fabrics):
        fabric.delete_job(f"j{number}")
        fabric.close()


@pytest.mark.soak
def test_a_single_server_is_not_probed(split: Nodes) -> None:
    """Without another server the probe cannot run."""
    broker = parse(in_own_namespace(split.address))
    host, port = dict(zip(split.names, broker.servers, strict=True))[APART]
    address = f"amqp://{broker.user}:{broker.password}@{host}:{port}/%2F?namespace={broker.namespace}"
    checked(address, (host, port))


@pytest.mark.soak
def test_an_address_with_only_partitioned_servers_is_an_error(split: Nodes) -> None:
    broker = parse(in_own_namespace(split.address))
    servers = ",".join(f"{host}:{port}" for host, port in broker.servers[:2])
    address = f"amqp://{broker.user}:{broker.password}@{servers}/%2F?namespace={broker.namespace}"
    with pytest.raises(FabricLost, match=r"is partitioned.* and restart the node that was partitioned"):
        RabbitFabric(parse(address), 3.0)
