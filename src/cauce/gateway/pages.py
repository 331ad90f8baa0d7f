"""Pages of an answer: where a cursor stands in it, and the rows from there on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from cauce.gateway.errors import BadRequest

MOST_ROWS = 100_000
"""The most rows in a page."""

_CURSOR = re.compile(r"([0-9]{1,9})\.([0-9]{1,12})")


@dataclass(frozen=True)
class Cursor:
    """A row of one of the frames that an answer is kept in. Frames never change, so neither does what follows."""

    number: int = 0
    row: int = 0

    def __str__(self) -> str:
        return f"{self.number}.{self.row}"


def read_cursor(text: str | None, limit: int) -> Cursor:
    if not 1 <= limit <= MOST_ROWS:
        raise BadRequest(f"a page has 1 to {MOST_ROWS} rows, not {limit}")
    if not text:
        return Cursor()
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise BadRequest(f"{text[:80]!r} is no cursor of ours: use the one that came with the last page")
    return Cursor(int(found[1]), int(found[2]))


def take(
    heights: Sequence[int], frame: Callable[[int], pl.DataFrame], place: Cursor, limit: int
) -> tuple[list[pl.DataFrame], Cursor]:
    """Up to ``limit`` rows from a place on, and the place behind them. ``frame`` gives the frame of a number."""
    taken: list[pl.DataFrame] = []
    number, row, left = place.number, place.row, limit
    while left and number < len(heights):
        if row < heights[number]:
            page = frame(number).slice(row, left)
            taken.append(page)
            left -= page.height
            row += page.height
        if row >= heights[number]:
            number, row = number + 1, 0
    return taken, Cursor(number, row)
