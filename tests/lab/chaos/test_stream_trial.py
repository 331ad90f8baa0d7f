"""Trials of a stream on real nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cauce.lab.broker.hosts import nodes_on_hosts
from cauce.lab.broker.nodes import Nodes
from cauce.lab.chaos.stream_trial import FAULTS, NETWORK_FAULTS, network_faults, trial
from tests.brokers import require_rabbitmq
from tests.chaos.hosts import require_namespaces


@pytest.mark.slow
def test_without_faults_every_record_is_found_once(broker: Nodes) -> None:
    found = trial(broker, FAULTS["none"], 1.0, writers=2, readers=1, seed=0)
    assert found.verdict.is_exact
    assert found.verdict.confirmed > 0
    assert (found.verdict.unconfirmed, found.verdict.duplicated) == (0, 0)


@pytest.mark.soak
@pytest.mark.parametrize("fault", ["kill", "pause", "restart", "kill-all"])
def test_nothing_is_lost_reordered_or_invented(fragile_cluster: Nodes, fault: str) -> None:
    found = trial(fragile_cluster, FAULTS[fault], 30.0, writers=3, readers=2, seed=0)
    sys.stdout.write(f"{found}\n")
    assert found.verdict.is_exact


@pytest.mark.soak
@pytest.mark.parametrize("fault", NETWORK_FAULTS)
def test_partitions_lose_reorder_and_invent_nothing(tmp_path: Path, fault: str) -> None:
    require_rabbitmq()
    require_namespaces()
    with nodes_on_hosts(tmp_path / "nodes", 3) as (network, nodes):
        found = trial(nodes, network_faults(network)[fault], 30.0, writers=3, readers=2, seed=0)
    sys.stdout.write(f"{found}\n")
    assert found.times >= 3
    assert found.verdict.is_exact
