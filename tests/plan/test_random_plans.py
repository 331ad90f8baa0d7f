"""Random plans of several queries return the rows that Polars computes alone, however stages are shared and merged."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.plan.evaluate import Evaluator
from tests.plan.random_plans import Drawing, outputs
from tests.plan.tiny import run, write

STEPS = 9
QUERIES = 4


def rows_of(frame: pl.DataFrame) -> list[str]:
    """Integer-valued decimals as integers: an answer returns a sum as a decimal without decimals."""
    whole = frame.with_columns(pl.col(pl.Decimal(38, 0)).cast(pl.Int64))
    return sorted(map(repr, whole.rows()))


def seeds(count: int) -> list[object]:
    """Half of them are in the quick selection."""
    return [*range(count // 2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(count // 2, count))]


@pytest.mark.parametrize("seed", seeds(40))
def test_a_random_plan_gives_the_rows_that_polars_gives(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_random_plan_gives_them_with_joins_in_small_slices(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Evaluator, "slice_cells", 5)
    check(tmp_path, seed)


def check(tmp_path: Path, seed: int) -> None:
    drawing = Drawing(seed)
    for _ in range(STEPS):
        drawing.grow()
    write(tmp_path, **drawing.files)
    asked = {f"q{number}": pair for number, pair in enumerate(drawing.pool[-QUERIES:])}
    questions = {name: (pair.relation, outputs(pair)) for name, pair in asked.items()}
    answers = run(tmp_path, *drawing.tables, partitions=drawing.rng.choice([1, 2, 3]), part_bytes=40, **questions)
    for name, pair in asked.items():
        assert rows_of(answers[name]) == rows_of(pair.frame), name
