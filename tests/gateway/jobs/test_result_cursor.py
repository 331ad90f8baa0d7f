"""Rows from a cursor on: as many as wanted, fewer if they are large."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.gateway.jobs import result_cursor
from cauce.gateway.jobs.result_cursor import Cursor, take

PAGES = [pl.DataFrame({"k": range(start, start + 10)}) for start in range(0, 50, 10)]


def read_all(limit: int) -> list[list[int]]:
    found, place = list[list[int]](), Cursor()
    while place.number < len(PAGES):
        taken, place = take([page.height for page in PAGES], lambda number: PAGES[number], place, limit)
        found.append(pl.concat(taken)["k"].to_list())
    return found


def test_every_row_is_read_once() -> None:
    assert [row for rows in read_all(7) for row in rows] == list(range(50))
    assert [len(rows) for rows in read_all(20)] == [20, 20, 10]


def test_large_rows_are_read_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cursor, "ENOUGH_BYTES", 100)
    assert [len(rows) for rows in read_all(1_000)] == [20, 20, 10]
    assert [row for rows in read_all(1_000) for row in rows] == list(range(50))
