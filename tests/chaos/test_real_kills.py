"""Real processes are killed and paused repeatedly: the answers equal the oracle's, byte for byte."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from cauce.lab.chaos.processes import WORKER
from cauce.lab.chaos.run import Chaos, Fault
from cauce.lab.generators import generate
from tests.oracle.api import answer

KILLS, PAUSES = 14, 4
"""For each of the four datasets."""

SCALES = {"books": 0.004, "movies": 0.01, "flights": 0.0005, "coffee": 0.004}
MOST_RUNS = 12
MOST_FAULTS = 24
"""Maximum number in one run; after that no more faults are injected, so that it completes soon."""


FABRICS = ("files", "rabbitmq")


def kind(dataset: str, fabric: str) -> object:
    """One dataset of each fabric is in the regular tests: all of them take minutes."""
    usual = (dataset, fabric) in {("coffee", "files"), ("movies", "rabbitmq")}
    return pytest.param(dataset, fabric, marks=pytest.mark.slow if usual else pytest.mark.soak)


def read_answers(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.glob("*.csv")}


@pytest.mark.long
@pytest.mark.parametrize(("dataset", "fabric"), [kind(*each) for each in product(SCALES, FABRICS)], indirect=["fabric"])
def test_kills_and_pauses_change_no_byte(dataset: str, fabric: list[str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    generate(dataset, data, scale=SCALES[dataset], seed=5)
    wanted = answer(dataset, data)
    hit: list[Fault] = []
    for run in range(MOST_RUNS):
        out = tmp_path / f"out{run}"
        arguments = [dataset, "--data", str(data), "--out", str(out), "--part-bytes", "100000", "--workers", "2"]
        arguments += fabric
        chaos = Chaos(arguments, every_s=0.15, seed=run, report=lambda line: None, most=MOST_FAULTS)
        chaos.play()
        hit += chaos.faults
        assert read_answers(out) == wanted
        kills = [each for each in hit if each.what == "kill"]
        if len(kills) >= KILLS and len(hit) - len(kills) >= PAUSES:
            break
    assert len(kills) >= KILLS
    assert len(hit) - len(kills) >= PAUSES
    struck = [each for each in kills if each.who == WORKER]
    assert struck
    assert all(each.leases > 0 for each in struck), "a worker was killed that had no work"
