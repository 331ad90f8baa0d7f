"""Nodes that are killed, paused and restarted; several clusters on one machine; separate addresses."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cauce.errors import BrokerFailed, UsageError
from cauce.lab.broker.nodes import Nodes, existing, start
from cauce.lab.broker.status import status
from tests.brokers import pauses_minorities, require_rabbitmq
from tests.lab.broker.looking import living, open_ports, processes_of

pytestmark = pytest.mark.slow

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def members(nodes: Nodes) -> tuple[str, ...] | None:
    return status(nodes).members


@pytest.mark.soak
def test_three_nodes_form_one_cluster(cluster: Nodes) -> None:
    seen = status(cluster)
    assert seen.whole
    assert seen.members == ("r1", "r2", "r3")


@pytest.mark.soak
def test_clusters_on_one_machine_are_separate(cluster: Nodes, fragile_cluster: Nodes, broker: Nodes) -> None:
    assert [members(each) for each in (cluster, fragile_cluster, broker)] == [cluster.names, cluster.names, ("r1",)]
    cluster.ctl("r1", "add_vhost", "only-here")
    try:
        assert "only-here" in cluster.ctl("r3", "list_vhosts")
        assert "only-here" not in fragile_cluster.ctl("r3", "list_vhosts")
    finally:
        cluster.ctl("r1", "delete_vhost", "only-here")


@pytest.mark.soak
def test_a_killed_node_leaves_the_cluster_and_rejoins(fragile_cluster: Nodes) -> None:
    before = fragile_cluster.pid("r2")
    fragile_cluster.kill("r2")
    assert fragile_cluster.pid("r2") is None
    assert not fragile_cluster.answers("r2")
    seen = status(fragile_cluster)
    assert not seen.whole
    assert [node.description for node in seen.nodes if node.name == "r2"] == ["not running"]
    fragile_cluster.start_again("r2")
    assert fragile_cluster.answers("r2")
    assert fragile_cluster.pid("r2") != before
    assert members(fragile_cluster) == fragile_cluster.names


def test_a_paused_node_is_alive_and_does_not_answer(fragile_cluster: Nodes) -> None:
    fragile_cluster.pause("r1")
    try:
        assert fragile_cluster.pid("r1") is not None
        assert not fragile_cluster.answers("r1")
    finally:
        fragile_cluster.resume("r1")
    fragile_cluster.wait_ready("r1")


def test_pausing_a_killed_node_fails(fragile_cluster: Nodes) -> None:
    fragile_cluster.kill("r3")
    with pytest.raises(BrokerFailed, match=r"node r3 of .* does not run"):
        fragile_cluster.pause("r3")


@pytest.mark.soak
def test_a_minority_changes_nothing_until_the_majority_is_back(fragile_cluster: Nodes) -> None:
    fragile_cluster.kill("r1")
    fragile_cluster.kill("r2")
    if pauses_minorities(fragile_cluster):
        deadline = time.monotonic() + 60
        while fragile_cluster.answers("r3"):
            assert time.monotonic() < deadline, "a node goes on alone"
    else:
        with pytest.raises(BrokerFailed, match="rabbitmqctl add_vhost alone on r3"):
            fragile_cluster.ctl("r3", "add_vhost", "alone")
    assert fragile_cluster.pid("r3") is not None
    assert fragile_cluster.start() == ["r1", "r2"]
    assert members(fragile_cluster) == fragile_cluster.names


def test_an_error_of_rabbitmqctl_is_reported(broker: Nodes) -> None:
    with pytest.raises(BrokerFailed, match="rabbitmqctl delete_vhost nowhere on r1 ended with"):
        broker.ctl("r1", "delete_vhost", "nowhere")


def test_an_unknown_node_is_reported(broker: Nodes) -> None:
    with pytest.raises(UsageError, match=r"node r9 does not exist in .*; expected one of r1"):
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
