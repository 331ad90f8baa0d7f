"""Trials of a stream on real nodes."""

from __future__ import annotations

import sys

import pytest

from cauce.lab.broker.nodes import Nodes
from cauce.lab.chaos.stream_trial import trial


@pytest.mark.slow
def test_without_faults_every_record_is_found_once(broker: Nodes) -> None:
    found = trial(broker, "none", 1.0, writers=2, readers=1, seed=0)
    assert found.verdict.is_exact
    assert found.verdict.confirmed > 0
    assert (found.verdict.unconfirmed, found.verdict.duplicated) == (0, 0)


@pytest.mark.soak
@pytest.mark.parametrize("fault", ["kill", "pause", "restart", "kill-all"])
def test_nothing_is_lost_reordered_or_invented(fragile_cluster: Nodes, fault: str) -> None:
    found = trial(fragile_cluster, fault, 30.0, writers=3, readers=2, seed=0)
    sys.stdout.write(f"{found}\n")
    assert found.verdict.is_exact
