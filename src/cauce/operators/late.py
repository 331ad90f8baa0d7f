"""Rows of which only the columns that were asked for have been built.

A filter or semi-join narrows the rows first; what it did not look at is built for the survivors only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.order import POSITION
from cauce.scan.lookup import Numbers, TextSet

Rows = npt.NDArray[np.int64]


class Source(Protocol):
    """Something that can build a column for some of its rows (a located part, a Parquet row group)."""

    def column(self, name: str, rows: Rows | None) -> pl.Series: ...

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers: ...

    def filled(self, name: str, rows: Rows | None) -> npt.NDArray[np.bool_] | None:
        """Which rows have a text in a column; None where that is not known without building it."""


def pick(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """These columns of a frame, in this order: as ``select``, without the query that it would make of it."""
    if not names:
        return frame.select([])
    return frame if frame.columns == list(names) else pl.DataFrame([frame.get_column(name) for name in names])


def _wanted_filled(predicate: pl.Expr) -> str | None:
    """The column, if all that a predicate asks for is that it is not null."""
    names = predicate.meta.root_names()
    return names[0] if len(names) == 1 and predicate.meta.eq(pl.col(names[0]).is_not_null()) else None


class Late:
    """Rows over a source, or over a frame alone. Immutable to its users; what was built once is kept."""

    def __init__(
        self,
        built: pl.DataFrame,
        *,
        source: Source | None = None,
        rows: Rows | None = None,
        height: int | None = None,
        first_position: int = 0,
    ) -> None:
        self._built = built
        self._source = source
        self._rows = rows
        self._first_position = first_position
        self.height = built.height if height is None else height

    @classmethod
    def of_source(cls, source: Source, rows: Rows | None, height: int, first_position: int) -> Late:
        return cls(pl.DataFrame(), source=source, rows=rows, height=height, first_position=first_position)

    def frame(self, columns: Iterable[str]) -> pl.DataFrame:
        """A frame with just these columns, in this order."""
        names = list(dict.fromkeys(columns))
        missing = [name for name in names if name not in self._built.columns]
        if missing and self._source is not None:
            added = pl.DataFrame([self._build(name) for name in missing])
            self._built = added if self._built.width == 0 else self._built.hstack(added)
        return pick(self._built, names)

    def _build(self, name: str) -> pl.Series:
        assert self._source is not None
        if name != POSITION:
            return self._source.column(name, self._rows).alias(name)
        rows = np.arange(self.height, dtype=np.int64) if self._rows is None else self._rows
        return pl.Series(name, rows + self._first_position)

    def find(self, name: str, texts: TextSet) -> Numbers:
        """The number among the texts of what each row has in a text column (0: none of them), without building the
        column if it is not built yet."""
        if self._source is None or name in self._built.columns:
            return texts.numbers(self.frame([name]).to_series())
        return self._source.find(name, texts, self._rows)

    @property
    def has_position(self) -> bool:
        return self._source is not None or POSITION in self._built.columns

    def everything(self) -> pl.DataFrame:
        """What has been built: all there is, for rows without a source."""
        return self._built

    def beside(self, added: pl.DataFrame) -> Late:
        """All of the rows, with more columns beside them."""
        kept = self._built.drop(added.columns, strict=False)
        return Late(
            added if kept.width == 0 else kept.hstack(added),
            source=self._source,
            rows=self._rows,
            height=self.height,
            first_position=self._first_position,
        )

    def take(self, index: Rows, added: pl.DataFrame | None = None) -> Late:
        """These of the rows (an index may repeat), with more columns beside them."""
        built = self._built[index] if self._built.width else self._built
        if added is not None and added.width:
            built = built.drop(added.columns, strict=False)
            built = added if built.width == 0 else built.hstack(added)
        rows = None
        if self._source is not None:
            rows = index if self._rows is None else self._rows[index]
        return Late(
            built,
            source=self._source,
            rows=rows,
            height=len(index),
            first_position=self._first_position,
        )

    def filter(self, predicates: Sequence[pl.Expr]) -> Late:
        """Predicates in turn, each on the rows the ones before it left."""
        kept = self
        for predicate in predicates:
            index = kept._where(predicate)
            if len(index) < kept.height:
                kept = kept.take(index)
        return kept

    def _where(self, predicate: pl.Expr) -> Rows:
        """The rows for which a predicate holds."""
        column = _wanted_filled(predicate)
        if column is not None and self._source is not None and column not in self._built.columns:
            # Whether there is a text can be seen without building it.
            filled = self._source.filled(column, self._rows)
            if filled is not None:
                return np.flatnonzero(filled).astype(np.int64)
        mask = self.evaluate([predicate.alias("#mask")]).to_series()
        return mask.fill_null(False).arg_true().to_numpy().astype(np.int64)

    def evaluate(self, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
        """The expressions' values, one for each row."""
        columns = [name for expression in expressions for name in expression.meta.root_names()]
        if not columns:
            # Literals alone: Polars would give one row where we want one for each of ours.
            base = pl.DataFrame({"#row": np.zeros(self.height, dtype=np.int8)})
            return base.with_columns(expressions).drop("#row")
        frame = self.frame(columns)
        names = [expression.meta.output_name() for expression in expressions]
        return frame.with_columns(expressions).select(names)

    def with_columns(self, expressions: Sequence[pl.Expr]) -> Late:
        return self.beside(self.evaluate(expressions))
