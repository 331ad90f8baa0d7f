"""Detects the delimiter, the quote and the header line of CSV text. Unclear text is read as plain CSV."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import polars as pl

from cauce.errors import WrongColumns
from cauce.scan.csv.cut import read_header
from cauce.scan.csv.located import locate, padded
from cauce.schema.column_types import type_of_numbers, type_of_texts
from cauce.schema.types import ColumnType

DELIMITERS = ",;\t|"
_CONSISTENT = 0.8
_ENOUGH = 0.3
"""The share of records with the width of the first one that makes a delimiter certain, and that makes it possible."""
_SINGLE_QUOTED = re.compile(rb"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|\Z)", re.MULTILINE)


@dataclass(frozen=True)
class Dialect:
    """`width` is the number of columns of the first record."""

    delimiter: str = ","
    quote: str = '"'
    width: int = 1


@dataclass(frozen=True)
class _Trial:
    dialect: Dialect
    share: float
    """Of the records that have as many cells as the first one."""


def dialect_of(head: bytes, delimiters: str = DELIMITERS) -> Dialect:
    """The dialect of the first records of a text, given as whole lines."""
    quotes = ('"', "'") if len(_SINGLE_QUOTED.findall(head)) > 1 and b'"' not in head else ('"',)
    trials = [_trial(head, Dialect(delimiter, quote)) for quote, delimiter in product(quotes, delimiters)]
    wide = [trial for trial in trials if trial is not None and trial.dialect.width > 1]
    for least in (_CONSISTENT, _ENOUGH):
        found = [trial for trial in wide if trial.share >= least]
        if found:
            return max(found, key=_rank).dialect
    return Dialect(delimiters[0])


def _rank(trial: _Trial) -> tuple[float, bool, int]:
    # Cells in single quotes are read as such if that splits the records as well as the usual quote does.
    return round(trial.share, 2), trial.dialect.quote == "'", trial.dialect.width


def _trial(head: bytes, dialect: Dialect) -> _Trial | None:
    try:
        first = read_header(head, dialect.delimiter, quote=dialect.quote, named=False)
    except WrongColumns:
        return None
    body = head[first.end :]
    width = len(first.cells)
    found = locate(padded(body), len(body), delimiter=dialect.delimiter, width=width, columns=(), quote=dialect.quote)
    records = found.rows + len(found.fault_cells)
    return _Trial(Dialect(dialect.delimiter, dialect.quote, width), found.rows / max(records, 1))


def has_header(first: tuple[str, ...], rest: list[pl.Series]) -> bool | None:
    """Whether the first record names the columns: its cells do not fit the types of the others. None if all columns are
    text, so that nothing shows it. `rest` are the columns without the first record."""
    if not rest or not len(rest[0]):
        # A name is no number.
        values = pl.Series([cell for cell in first if cell], dtype=pl.String)
        return None if values.is_empty() else all(type_of_numbers(values[[n]]) is None for n in range(len(values)))
    typed = False
    for cell, column in zip(first, rest, strict=True):
        fits = _fits(cell, column)
        if fits is False:
            # One column is enough: a type takes some milliseconds to find.
            return True
        typed = typed or fits is not None
    return False if typed else None


def _fits(cell: str, column: pl.Series) -> bool | None:
    """Whether a cell has the type of a column; None if the type is text, or the cell is empty."""
    kind, _ = type_of_texts(column)
    if kind == ColumnType("text") or not cell:
        return None
    joined = pl.concat([column.drop_nulls(), pl.Series([cell], dtype=pl.String)])
    return type_of_texts(joined)[0].name != "text"


def lines_within(data: bytes, whole: bool) -> bytes:
    """The whole lines of a piece of text; all of it if it is the end of the text."""
    return data if whole else data[: data.rfind(b"\n") + 1] or data
