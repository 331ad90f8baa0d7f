"""Compares answers value for value: exact numbers are equal, floats up to rounding."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl

CLOSE = 1e-9
"""The largest relative difference of two floats: other programs add them in any order."""


def alike(one: object, other: object) -> bool:
    numbers = (int, float, Decimal)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return one == other
    if isinstance(one, float) or isinstance(other, float):
        return abs(float(one) - float(other)) <= CLOSE * max(1.0, abs(float(other)))
    return one == other


def differences(ours: Path, theirs: Path) -> list[str]:
    """The queries whose rows differ, in two folders of Parquet files; both must contain some."""
    names = sorted({file.stem for folder in (ours, theirs) for file in folder.glob("q*.parquet")})
    if not names:
        return ["there are no answers"]
    return [name for name in names if not _same(ours / f"{name}.parquet", theirs / f"{name}.parquet")]


def _same(ours: Path, theirs: Path) -> bool:
    if not (ours.is_file() and theirs.is_file()):
        return False
    here, there = pl.read_parquet(ours).rows(), pl.read_parquet(theirs).rows()
    return len(here) == len(there) and all(all(map(alike, one, other)) for one, other in zip(here, there, strict=True))
