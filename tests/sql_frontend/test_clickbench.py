"""The 43 queries of ClickBench over a table of 105 columns, value for value against DuckDB.

Rows that tie are in no order there: DuckDB sorts by the remaining columns too, as Cauce does.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.sql_frontend.clickbench import COLUMNS, queries, random_rows
from tests.sql_frontend.runs import Both, alike

QUERIES = queries()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    rows = {"hits": random_rows(1500)}
    return Both(Path(tmp_path_factory.mktemp("hits")), {"hits": COLUMNS}, rows, part_bytes=200_000)


def for_few_rows(text: str) -> str:
    """Thresholds and offsets that leave rows."""
    text = text.replace("> 100000", "> 50").replace("OFFSET 10000", "OFFSET 1")
    return text.replace("OFFSET 1000", "OFFSET 2").replace("OFFSET 100", "OFFSET 1")


def with_total_order(text: str, width: int) -> str:
    positions = ", ".join(str(number) for number in range(1, width + 1))
    if " ORDER BY " not in text:
        return re.sub(r"( LIMIT \d+)", rf" ORDER BY {positions}\1", text)
    return re.sub(r"( ORDER BY .*?)( LIMIT .*)?$", rf"\1, {positions}\2", text)


def test_table_has_105_columns() -> None:
    assert len(COLUMNS) == 105


@pytest.fixture(scope="module")
def answers(both: Both) -> dict[str, pl.DataFrame]:
    """All queries as one job."""
    return both.frames(";\n".join(for_few_rows(text) for text in QUERIES))


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_query_equals_duckdb(both: Both, answers: dict[str, pl.DataFrame], number: int) -> None:
    text = for_few_rows(QUERIES[number])
    frame = answers[f"q{number + 1}"]
    here = frame.rows()
    there = both.duckdb.execute(with_total_order(text, frame.width)).fetchall()
    assert len(here) == len(there) > 0
    for one, other in zip(here, there, strict=True):
        assert all(map(alike, one, other)), (one, other)
