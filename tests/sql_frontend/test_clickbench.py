"""The 43 queries of ClickBench over a table of 105 columns, value for value against DuckDB.

Rows that tie are in no order there: DuckDB sorts by the remaining columns too, as Cauce does.
"""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench.clickbench import COLUMNS, queries, with_total_order
from tests.sql_frontend.runs import Both, alike

QUERIES = queries()

_HOSTS = ("http://www.google.com/", "https://news.example/", "http://shop.example/cart/", "http://www.video.example/a/")
_PHRASES = ("cats", "google maps", "news 24", "weather", "buy 10 pens")
_BIG = (3594120000172545465, 2868770270353813622, 435090932899640449, 62, 17)


def random_rows(count: int, seed: int = 1) -> list[list[Any]]:
    """Rows with few different values, NULL for empty texts."""
    choose = random.Random(seed)
    return [[_cell(choose, name, kind) for name, kind in COLUMNS.items()] for _ in range(count)]


def _cell(choose: random.Random, name: str, kind: str) -> Any:
    if kind == "VARCHAR":
        return _text(choose, name)
    if kind == "DATE":
        return dt.date(2013, 7, choose.randint(12, 16))
    if kind == "TIMESTAMP":
        return dt.datetime(
            2013, 7, choose.randint(13, 16), choose.randint(0, 23), choose.randint(0, 59), choose.randint(0, 59)
        )
    if name in ("RefererHash", "URLHash", "UserID"):
        return choose.choice(_BIG)
    if name == "WatchID":
        return choose.randint(10**17, 9 * 10**18)
    if name == "CounterID":
        return choose.choice([62, 62, 7, 1000])
    return choose.choice([0, 0, 1, 6, -1, choose.randint(1, 30)])


def _text(choose: random.Random, name: str) -> str | None:
    if choose.random() < 0.3:
        return None
    if name in ("URL", "Referer", "OriginalURL"):
        return f"{choose.choice(_HOSTS)}{choose.choice(['', 'index.html', 'page/2?q=1'])}"
    if name == "Title":
        return choose.choice(["Google news", "A video", "Sport today", "Pens"])
    return choose.choice(_PHRASES)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    rows = {"hits": random_rows(1500)}
    return Both(Path(tmp_path_factory.mktemp("hits")), {"hits": COLUMNS}, rows, part_bytes=200_000)


def for_few_rows(text: str) -> str:
    """Thresholds and offsets that leave rows."""
    text = text.replace("> 100000", "> 50").replace("OFFSET 10000", "OFFSET 1")
    return text.replace("OFFSET 1000", "OFFSET 2").replace("OFFSET 100", "OFFSET 1")


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
