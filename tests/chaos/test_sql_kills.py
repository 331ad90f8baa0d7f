"""`cauce sql` under kills: the 22 queries of TPC-H as one job equal DuckDB."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from bench.tpch import queries, script
from bench.tpch.suite import generated
from cauce.lab.chaos.processes import WORKER
from cauce.lab.chaos.run import Chaos

SMALL, LARGE = 0.02, 0.1
"""Scales of TPC-H: 1 is about 1 GB."""
EVERY_S = {SMALL: 0.4, LARGE: 1.0}
"""Time between kills: the small one takes a few seconds."""
RUNS = [
    pytest.param("files", SMALL, marks=pytest.mark.slow),
    pytest.param("files", LARGE, marks=pytest.mark.soak),
    pytest.param("rabbitmq", LARGE, marks=pytest.mark.soak),
]


def by_duckdb(data: Path) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect() as other:
        for file in data.glob("*.csv"):
            other.execute(f"CREATE TABLE {file.stem} AS FROM read_csv('{file}')")
        return {name: other.execute(text).fetchall() for name, text in queries().items()}


def same(text: str, value: object) -> bool:
    """Whether a cell of an answer has a value of DuckDB, whose sums of decimals are floats here."""
    if value is None:
        return text == ""
    if isinstance(value, int | float) or type(value).__name__ == "Decimal":
        return abs(float(text) - float(str(value))) <= 1e-9 * max(1.0, abs(float(str(value))))
    return text == str(value)


@pytest.mark.parametrize(("fabric", "scale"), RUNS, indirect=["fabric"])
def test_kills_change_no_answer_of_tpch(fabric: list[str], scale: float, tmp_path: Path) -> None:
    data = generated(tmp_path, scale)
    text = tmp_path / "tpch.sql"
    text.write_text(script())
    out = tmp_path / "out"
    arguments = ["-f", str(text), "--data", str(data), "--out", str(out), "--part-bytes", "200000"]
    chaos = Chaos([*arguments, *fabric], every_s=EVERY_S[scale], seed=1, report=print, most=20, command="sql")
    chaos.play()
    assert len([each for each in chaos.faults if each.what == "kill" and each.who == WORKER]) >= 3
    for name, expected in by_duckdb(data).items():
        with (out / f"{name}.csv").open(newline="") as file:
            _, *rows = csv.reader(file)
        assert len(rows) == len(expected) > 0, name
        for row, wanted in zip(rows, expected, strict=True):
            assert all(map(same, row, wanted)), (name, row, wanted)
