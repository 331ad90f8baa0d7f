"""Finds differences between answers, ignoring the formatting of numbers and the order of rows.

Peers format floats and decimals differently, and some do not keep an order. Everything else must be equal.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = list[str]

TOLERANCE = 1e-9
SHOWN_CHARACTERS = 200

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?")
"""Limited in length, so that ids of 32 hexadecimal digits never match."""


def difference(ours: Path, theirs: Path) -> str:
    """The first difference between two CSV answers, as a sentence; empty if they agree."""
    if not theirs.is_file():
        return "the answer is missing"
    (header, mine), (their_header, others) = _read(ours), _read(theirs)
    if header != their_header:
        return f"the columns are {', '.join(their_header)}, not {', '.join(header)}"
    if len(mine) != len(others):
        return f"{len(others)} rows, not {len(mine)}"
    for one, other in zip(sorted(mine, key=_key), sorted(others, key=_key), strict=True):
        if len(one) != len(other) or not all(map(same, one, other)):
            return f"{_shown(other)}, not {_shown(one)}"
    return ""


def same(one: str, other: str) -> bool:
    """Whether two cells are equal: as text, or as numbers up to rounding."""
    if one == other:
        return True
    if not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
        return False
    return math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=0.0)


def _read(path: Path) -> tuple[Row, list[Row]]:
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


def _key(row: Row) -> tuple[list[str], list[float]]:
    """Sorts by texts, then by numbers, so that rounding of a number does not change which rows are compared."""
    numbers = [bool(_NUMBER.fullmatch(cell)) for cell in row]
    texts = ["" if number else cell for cell, number in zip(row, numbers, strict=True)]
    return texts, [float(cell) for cell, number in zip(row, numbers, strict=True) if number]


def _shown(row: Row) -> str:
    text = " | ".join(row)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
