"""Nodes that are killed, paused and started again; clusters side by side; addresses of their own."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cauce.broker.nodes import Nodes, existing, start
from cauce.broker.status import status
from cauce.errors import BrokerFailed, UsageError
from tests.broker.looking import living, open_ports, processes_of
from tests.brokers import require_rabbitmq

pytestmark = pytest.mark.slow

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def members(nodes: Nodes) -> tuple[str, ...] | None:
    return status(nodes).members


@pytest.mark.soak
def test_three_nodes_are_one_cluster(cluster: Nodes) -> None:
    seen = status(cluster)
    assert seen.whole
    assert seen.members == ("r1", "r2", "r3")


@pytest.mark.soak
def test_clusters_side_by_side_do_not_meet(cluster: Nodes, fragile_cluster: Nodes, broker: Nodes) -> None:
    assert [members(each) for each in (cluster, fragile_cluster, broker)] == [cluster.names, cluster.names, ("r1",)]
    cluster.ctl("r1", "add_vhost", "only-here")
    try:
        assert "only-here" in cluster.ctl("r3", "list_vhosts")
        assert "only-here" not in fragile_cluster.ctl("r3", "list_vhosts")
    finally:
        cluster.ctl("r1", "delete_vhost", "only-here")


def test_a_killed_node_leaves_the_cluster_and_comes_back(fragile_cluster: Nodes) -> None:
    before = fragile_cluster.pid("r2")
    fragile_cluster.kill("r2")
    assert fragile_cluster.pid("r2") is None
    assert not fragile_cluster.answers("r2")
    seen = status(fragile_cluster)
    assert not seen.whole
    assert [node.said for node in seen.nodes if node.name == "r2"] == ["dead"]
    fragile_cluster.start_again("r2")
    assert fragile_cluster.answers("r2")
    assert fragile_cluster.pid("r2") != before
    assert members(fragile_cluster) == fragile_cluster.names


def test_a_paused_node_lives_and_says_nothing(fragile_cluster: Nodes) -> None:
    fragile_cluster.pause("r1")
    try:
        assert fragile_cluster.pid("r1") is not None
        assert not fragile_cluster.answers("r1")
    finally:
        fragile_cluster.resume("r1")
    fragile_cluster.wait_ready("r1")


def test_a_dead_node_can_not_be_paused(fragile_cluster: Nodes) -> None:
    fragile_cluster.kill("r3")
    with pytest.raises(BrokerFailed, match=r"node r3 of .* does not run"):
        fragile_cluster.pause("r3")


@pytest.mark.soak
def test_a_minority_stands_still_until_it_is_none(fragile_cluster: Nodes) -> None:
    fragile_cluster.kill("r1")
    fragile_cluster.kill("r2")
    deadline = time.monotonic() + 60
    while fragile_cluster.answers("r3"):
        assert time.monotonic() < deadline, "a node goes on alone"
    assert fragile_cluster.pid("r3") is not None
    assert fragile_cluster.start() == ["r1", "r2"]
    assert members(fragile_cluster) == fragile_cluster.names


def test_what_rabbitmqctl_refuses_is_told(broker: Nodes) -> None:
    with pytest.raises(BrokerFailed, match="rabbitmqctl delete_vhost nowhere on r1 ended with"):
        broker.ctl("r1", "delete_vhost", "nowhere")


def test_a_node_that_is_not_there_is_told(broker: Nodes) -> None:
    with pytest.raises(UsageError, match=r"there is no node r9 in .*; it has r1"):
        broker.kill("r9")


@pytest.fixture
def spread(tmp_path: Path) -> Iterator[Nodes]:
    require_rabbitmq()
    for host in HOSTS:
        with socket.socket() as trial:
            try:
                trial.bind((host, 0))
            except OSError:
                pytest.skip(f"{host} is not an address of this machine")
    yield start(tmp_path / "nodes", hosts=HOSTS)
    left = existing(tmp_path / "nodes")
    assert left is not None
    left.stop(gently=False)


@pytest.mark.soak
def test_nodes_may_have_addresses_of_their_own(spread: Nodes) -> None:
    assert members(spread) == spread.names
    for node in spread.layout.nodes:
        pid = spread.pid(node.name)
        assert pid is not None
        seen = psutil.Process(pid).net_connections("tcp")
        listening = {each.laddr for each in seen if each.status == psutil.CONN_LISTEN}
        assert listening == {(node.host, node.port), (node.host, node.distribution_port)}
        peers = {each.laddr.ip for each in seen if each.raddr and each.raddr.ip in HOSTS}
        assert peers == {node.host}
    before = processes_of(spread)
    spread.stop()
    assert living(before) == []
    assert open_ports(spread) == []
