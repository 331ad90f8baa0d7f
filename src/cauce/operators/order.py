"""Canonical order of rows: sort keys, exact fractions among them, and the sort itself.

Text sorts by code point, nulls sort last in either direction, and rows that tie on every key are
ordered by their remaining columns, so that the outcome never depends on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cauce.operators.exact import divide, fraction_ranks

POSITION = "#position"
"""Where a row stood in its table's input: grows along the files in name order and along each file."""


@dataclass(frozen=True)
class Ratio:
    """Sorts by the exact fraction of two columns, which a rounded quotient might tie."""

    numerator: str
    denominator: str

    def __str__(self) -> str:
        return f"{self.numerator}/{self.denominator}"


@dataclass(frozen=True)
class SortKey:
    what: str | Ratio
    descending: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        if isinstance(self.what, Ratio):
            return (self.what.numerator, self.what.denominator)
        return (self.what,)

    def __str__(self) -> str:
        return f"{self.what} desc" if self.descending else str(self.what)


def ratio(numerator: str, denominator: str) -> Ratio:
    return Ratio(numerator, denominator)


def desc(what: str | Ratio) -> SortKey:
    return SortKey(what, descending=True)


def sort_keys(by: Sequence[str | Ratio | SortKey]) -> tuple[SortKey, ...]:
    return tuple(key if isinstance(key, SortKey) else SortKey(key) for key in by)


def with_key_columns(frame: pl.DataFrame, by: Sequence[SortKey]) -> tuple[pl.DataFrame, list[str], list[bool]]:
    """The frame with the columns to sort by; a ratio becomes its quotient and a rank among equal quotients."""
    names: list[str] = []
    directions: list[bool] = []
    extra: list[pl.Series] = []
    for number, key in enumerate(by):
        if isinstance(key.what, str):
            added = [key.what]
        else:
            numerator, denominator = frame[key.what.numerator], frame[key.what.denominator]
            quotient = divide(numerator, denominator).alias(f"#quotient{number}")
            rank = fraction_ranks(quotient, numerator, denominator).alias(f"#rank{number}")
            extra += [quotient, rank]
            added = [quotient.name, rank.name]
        names += added
        directions += [key.descending] * len(added)
    return frame.with_columns(extra), names, directions


def sort_rows(frame: pl.DataFrame, by: Sequence[SortKey]) -> pl.DataFrame:
    if frame.height < 2:
        return frame
    keyed, names, directions = with_key_columns(frame, by)
    rest = [_tie_break(name, dtype) for name, dtype in frame.schema.items() if name not in names]
    ordered = keyed.sort(
        [*names, *rest], descending=directions + [False] * len(rest), nulls_last=True, maintain_order=True
    )
    return ordered.select(frame.columns)


def _tie_break(name: str, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.List):
        return pl.col(name).cast(pl.List(pl.String)).list.join("\x1f", ignore_nulls=False)
    return pl.col(name)
