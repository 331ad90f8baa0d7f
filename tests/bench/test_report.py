"""Ratios are of medians, and the report contains kills, samples, failures and differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.commands import Entry
from bench.comparison import Outcome
from bench.measure import Measured
from bench.report import Ratios, Section, as_json, markdown, ratios

OURS = Measured([1.0, 2.0, 9.0], [3.0, 3.0, 3.0], [100_000_000])
THEIRS = Measured([4.0, 3.0, 5.0], [1.5, 1.5, 90.0], [250_000_000])


def outcome(name: str, measured: Measured, peer: str = "", **more: object) -> Outcome:
    return Outcome(Entry(name, ("true",), Path("nowhere"), peer), measured, **more)  # type: ignore[arg-type]


def section(*others: Outcome) -> Section:
    return Section("books", ("q1", "q2"), 31.2, [outcome("Cauce", OURS), *others])


def test_ratios_are_of_medians_and_of_peaks() -> None:
    assert ratios(THEIRS, OURS) == Ratios(time=2.0, cpu=0.5, memory=2.5)


def test_a_peer_is_shown_beside_cauce_and_cauce_beside_duckdb() -> None:
    table = markdown([section(outcome("DuckDB", THEIRS, "duckdb"))], 2)
    assert "| Cauce | 1.00 | 1.00 | 100 |  | 1.00 2.00 9.00 |" in table
    assert "| DuckDB | 2.00 | 0.50 | 250 | agree | 4.00 3.00 5.00 |" in table
    assert "| DuckDB | 0.50 | 2.00 | 0.40 |" in table


def test_an_extrapolated_time_is_marked_with_its_source() -> None:
    table = markdown([section(outcome("DuckDB + vaderSentiment", THEIRS, "duckdb", texts=5000, scored=20))], 2)
    assert "DuckDB + vaderSentiment (extrapolated from 20 of 5,000 texts)" in table


def test_a_failed_peer_is_reported_and_is_no_problem() -> None:
    made = section(outcome("Dask", Measured(), "dask", failure="EOF inside string"))
    assert "| Dask | – | – | – | failed: EOF inside string | |" in markdown([made], 2)
    assert made.problems == []


def test_a_disagreement_is_a_problem_with_query_and_peer() -> None:
    made = section(outcome("Polars", THEIRS, "polars", differences={"q2": "3 rows, not 4"}))
    assert made.problems == ["books, Polars: q2 differs: 3 rows, not 4"]
    assert "**differ: q2**" in markdown([made], 2)


def test_a_failed_run_of_cauce_is_a_problem() -> None:
    made = Section("books", ("q1",), 1.0, [outcome("Cauce", Measured(), failure="no")])
    assert made.problems == ["books, Cauce: no"]
    assert "failed: no" in markdown([made], 2)


@pytest.mark.parametrize(("kills", "problems"), [([2, 3], 0), ([2, 0], 1)])
def test_a_round_without_a_kill_is_a_problem(kills: list[int], problems: int) -> None:
    entry = Entry("Cauce, killed", ("true",), Path("nowhere"), kills=Path("kills"))
    made = section(Outcome(entry, THEIRS, kills=kills))
    assert len(made.problems) == problems
    assert f"Cauce, killed ({kills[0]}+{kills[1]} kills)" in markdown([made], 2)


def test_the_results_are_there_for_programs_too() -> None:
    found = json.loads(as_json([section(outcome("DuckDB", THEIRS, "duckdb"))], 2))
    entry = found["datasets"][0]["entries"][1]
    assert entry["to_cauce"] == {"time": 2.0, "cpu": 0.5, "memory": 2.5}
    assert entry["wall_s"] == [4.0, 3.0, 5.0]
