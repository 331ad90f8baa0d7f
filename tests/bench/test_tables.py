"""The tables of the documentation show the stored results, and nothing else is changed."""

from __future__ import annotations

import pytest

from bench.results import load
from bench.tables import PAGES, ROOT, STORED, comparisons, reading, rendered, summary

SUITE = {
    "dataset": "TPC-H, CSV",
    "queries": ["q01", "q02"],
    "data_mb": 1109.7,
    "entries": [
        {"name": "Cauce", "peer": "", "wall_s": [2.0, 4.0, 3.0], "peak_mb": 500.0},
        {"name": "Cauce, a worker killed every 1 s", "peer": "", "wall_s": [4.5], "kills": [3, 5], "peak_mb": 0.0},
        {"name": "DuckDB, loaded once", "peer": "duckdb", "wall_s": [6.0], "peak_mb": 900.0},
        {"name": "DuckDB, views of the files", "peer": "duckdb", "failure": "no"},
        {"name": "Polars", "peer": "polars", "wall_s": [9.0], "peak_mb": 800.0},
        {"name": "Polars, otherwise", "peer": "polars", "wall_s": [7.5], "peak_mb": 1200.0},
        {"name": "Polars + vaderSentiment", "peer": "polars", "wall_s": [1.0], "peak_mb": 0.0, "texts": 1000},
    ],
}
CASE = {
    "case": "missing cells",
    "rows": 1000,
    "damaged": 2,
    "entries": [
        {"name": "Cauce", "right": True, "rows": 1000, "reported": 2, "wall_s": [1.0]},
        {"name": "DuckDB", "right": False, "failure": "no"},
        {"name": "Polars", "right": False, "rows": 990, "reported": 0, "wall_s": [0.5]},
    ],
}


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_a_page_show_the_stored_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert rendered(text, load(STORED)) == text, "run python -m bench.tables"


def test_a_suite_is_shown_with_ratios_kills_and_peaks() -> None:
    expected = "| TPC-H, CSV, 2 queries | 1.1 GB | 2.00 |  | 3.00 | 1.50 (3 to 5 kills) | 500 | 900 |  | 800 |"
    assert expected in comparisons({"one": SUITE})


def test_a_summary_shows_the_fastest_way_of_each_peer() -> None:
    assert "| TPC-H, CSV, 2 queries | 1.1 GB | 2.00 | 2.50 | 500 MB | 900 MB | 1200 MB |" in summary({"one": SUITE})


def test_a_reading_is_shown_with_its_time_or_its_fault() -> None:
    expected = "| missing cells | 1.00 s, 2 reported | refuses | **finds 990 of 1,000 rows**, 0.50 s |"
    assert expected in reading({"reading": {"dataset": "reading", "cases": [CASE]}})


def test_only_the_table_between_its_comments_is_replaced() -> None:
    page = "before\n<!-- table: comparisons -->\nold\n<!-- end -->\nafter\n"
    text = rendered(page, {"one": SUITE})
    assert text.startswith("before\n<!-- table: comparisons -->\nAll questions")
    assert text.endswith("|\n<!-- end -->\nafter\n")
    assert "old" not in text
