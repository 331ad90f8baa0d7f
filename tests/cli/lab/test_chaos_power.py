"""`cauce chaos power`: one round of it, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.lab.power.volatile_disk import VolatileDisk
from tests.cli.running import cauce


@pytest.mark.soak
def test_a_round_loses_nothing(volatile_disk: VolatileDisk, tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "power", "--out", "cuts", "--minutes", "0", "--seed", "3")
    assert outcome.code == 0, outcome.err
    *_, total, conclusion = outcome.out.splitlines()
    assert total.startswith("1 rounds: ")
    assert conclusion.startswith("Everything confirmed was there after each cut")


def test_unknown_survivors_are_refused(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "power", "--out", "cuts", "--survivors", "all")
    assert outcome.code == 2
    assert "unknown value all of --survivors; expected one of none, ordered" in outcome.err
    assert list(tmp_path.iterdir()) == []
