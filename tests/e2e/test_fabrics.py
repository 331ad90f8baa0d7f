"""The command `run` on both fabrics: every answer and every reject is the oracle's, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cauce.datasets import BUILT_IN
from cauce.lab.generators import generate
from tests.e2e.comparing import assert_same
from tests.e2e.hostile_rows import write_hostile_rows
from tests.e2e.test_generated import SMALL, TINY
from tests.oracle.api import answer


def answers_of(dataset: str, data: Path, out: Path, fabric: list[str]) -> dict[str, bytes]:
    options = ["--data", str(data), "--out", str(out), "--workers", "2", "--part-bytes", "4096", *fabric]
    subprocess.run([sys.executable, "-m", "cauce", "run", dataset, *options], check=True, stdout=subprocess.DEVNULL)
    return {path.stem: path.read_bytes() for path in out.glob("*.csv")}


# On files tests/client/test_real.py runs every dataset, too.
@pytest.mark.slow
@pytest.mark.parametrize("fabric", [pytest.param("files", marks=pytest.mark.soak), "rabbitmq"], indirect=True)
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_generated_rows(dataset: str, fabric: list[str], tmp_path: Path) -> None:
    generate(dataset, tmp_path / "data", scale=min(SMALL[dataset] / 5, TINY[dataset]), seed=9)
    found = answers_of(dataset, tmp_path / "data", tmp_path / "out", fabric)
    assert_same(found, answer(dataset, tmp_path / "data"), f"{dataset} on {fabric}")


@pytest.mark.slow
@pytest.mark.parametrize("fabric", ["files", "rabbitmq"], indirect=True)
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_hostile_rows(dataset: str, fabric: list[str], tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path / "data", 17)
    found = answers_of(dataset, tmp_path / "data", tmp_path / "out", fabric)
    assert_same(found, answer(dataset, tmp_path / "data"), f"{dataset} on {fabric}")
