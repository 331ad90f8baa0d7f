"""Cursors into an answer, and the rows from a cursor on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from cauce.api.names import JOB_ID, OWNER
from cauce.gateway.errors import BadRequest

MOST_ROWS = 100_000
"""The most rows in a page."""
ENOUGH_BYTES = 64 << 20
"""A page with so many bytes has no further rows."""

LIST_CURSOR = rf"([0-9]{{1,12}}\.[0-9]{{1,12}}):((?:{OWNER}\.)?{JOB_ID})"
_LIST_CURSOR = re.compile(LIST_CURSOR)
_CURSOR = re.compile(r"([0-9]{1,9})\.([0-9]{1,12})")


@dataclass(frozen=True)
class Cursor:
    """A row in one of the frames of an answer. Frames are immutable, so a cursor always yields the same rows."""

    number: int = 0
    row: int = 0

    def __str__(self) -> str:
        return f"{self.number}.{self.row}"


def read_cursor(text: str | None, limit: int) -> Cursor:
    if not 1 <= limit <= MOST_ROWS:
        raise BadRequest(f"limit must be from 1 to {MOST_ROWS}, not {limit}")
    if not text:
        return Cursor()
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise BadRequest(f"invalid cursor {text[:80]!r}: use `next` of the previous page")
    return Cursor(int(found[1]), int(found[2]))


def list_cursor(created: float, name: str) -> str:
    """The cursor after a job in a list ordered by age. In a list of all owners' jobs, the name has the owner."""
    return f"{created}:{name}"


def read_list_cursor(text: str) -> tuple[float, str]:
    found = _LIST_CURSOR.fullmatch(text)
    if found is None:
        raise BadRequest(f"invalid cursor {text[:80]!r} for a list of jobs: use `next` of the previous page")
    return float(found[1]), found[2]


def take(
    heights: Sequence[int], frame: Callable[[int], pl.DataFrame], place: Cursor, limit: int
) -> tuple[list[pl.DataFrame], Cursor]:
    """Up to ``limit`` rows from a cursor on, fewer if they are large, and the cursor after them. ``frame`` returns a
    frame by number."""
    taken: list[pl.DataFrame] = []
    number, row, left, size = place.number, place.row, limit, 0
    while left and number < len(heights) and size < ENOUGH_BYTES:
        if row < heights[number]:
            page = frame(number).slice(row, left)
            taken.append(page)
            left -= page.height
            row += page.height
            size += int(page.estimated_size())
        if row >= heights[number]:
            number, row = number + 1, 0
    return taken, Cursor(number, row)
