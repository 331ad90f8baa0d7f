"""`cauce chaos broker`: its table and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.lab.broker.nodes import Nodes
from tests.cli.running import cauce


@pytest.mark.slow
def test_it_prints_a_row_for_each_fault(broker: Nodes, tmp_path: Path) -> None:
    given = ["--broker", str(broker.place.folder), "--faults", "none", "--seconds", "1", "--writers", "1"]
    outcome = cauce(tmp_path, "chaos", "broker", *given)
    assert outcome.code == 0, outcome.err
    head, row, conclusion = outcome.out.splitlines()
    counts = dict(zip(head.replace("stalled s", "stalled").split(), row.split(), strict=True))
    assert counts["fault"] == "none"
    assert int(counts["confirmed"]) > 0
    assert [counts[kind] for kind in ("lost", "reordered", "phantom", "diverged")] == ["0"] * 4
    assert conclusion.startswith("Every confirmed record is in the stream")


def test_an_unknown_fault_is_refused(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "broker", "--broker", "nodes", "--faults", "kill,flood")
    assert outcome.code == 2
    assert (
        "unknown fault flood of --faults; expected one of none, kill, pause, restart, kill-all, isolate, partition"
        in outcome.err
    )


def test_a_folder_without_nodes_is_refused(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "broker", "--broker", "nodes")
    assert outcome.code == 2
    assert "no nodes in nodes; start some with: cauce broker start" in outcome.err
