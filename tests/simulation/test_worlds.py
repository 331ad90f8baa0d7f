"""The expected answers of the simulation equal those of an independent implementation, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.datasets import BUILT_IN
from cauce.lab.chaos.simulate import QUERIES, WORLDS, expected
from cauce.lab.chaos.worlds import world
from tests.oracle.api import answer


@pytest.mark.parametrize("seed", range(WORLDS))
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_a_run_without_faults_equals_the_oracle(dataset: str, seed: int, tmp_path: Path) -> None:
    world(dataset, seed).write(tmp_path)
    wanted = answer(dataset, tmp_path)
    for query in [name for each, name in QUERIES if each == dataset]:
        rows = wanted[query].decode().split("\n", 1)[1]
        assert rows, f"{query} has no rows: a fault could not be seen in it"
        assert expected(dataset, (query,), seed, 2)[query] == rows
