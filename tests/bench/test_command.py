"""`cauce bench` as a user runs it: tables, results and charts are left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import cauce

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _charts() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: ./cauce bench installs it")


def test_a_comparison(tmp_path: Path) -> None:
    asked = ("--dataset", "coffee", "--scale", "0.001", "--peers", "duckdb,polars", "--rounds", "1")
    outcome = cauce(tmp_path, "bench", *asked, "--out", "out")
    assert outcome.code == 0, outcome.err
    assert "| DuckDB |" in outcome.out
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["bench.json", "bench.md", "bench.png", "bench.svg", "data"]


def test_a_kill_that_does_not_happen_is_a_problem(tmp_path: Path) -> None:
    asked = ("--dataset", "coffee", "--scale", "0.001", "--peers", "duckdb", "--rounds", "1", "--kill-every", "60")
    outcome = cauce(tmp_path, "bench", *asked, "--out", "out")
    assert outcome.code == 1
    assert "ended before a worker was killed" in outcome.err


def test_scaling(tmp_path: Path) -> None:
    asked = ("--scaling", "--scales", "0.001,0.002", "--worker-counts", "1,2", "--queries", "q1", "--rounds", "1")
    outcome = cauce(tmp_path, "bench", *asked, "--out", "out")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("| 0.002 |") == 2
    assert (tmp_path / "out/scaling-books.svg").is_file()


def test_small(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "bench", "--small", "--scale", "0.0005", "--rounds", "1", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert "| Polars + Cauce's kernel |" in outcome.out
