"""Late materialisation: rows whose columns are built only when they are read.

Filters and semi-joins run first; the columns that they do not read are built for the remaining rows only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.order import POSITION
from cauce.scan.arrow import index_series
from cauce.scan.csv.lookup import Numbers, TextSet
from cauce.scan.integers.mask import true_rows

Rows = npt.NDArray[np.int64]


class Source(Protocol):
    """Builds columns for a selection of its rows (a located part, a Parquet row group)."""

    def column(self, name: str, rows: Rows | None) -> pl.Series: ...

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers: ...

    def filled(self, name: str, rows: Rows | None) -> npt.NDArray[np.bool_] | None:
        """Which rows have a text in a column; None if that is unknown without building it."""


class Converted:
    """A source whose columns are expressions of one column of another source."""

    def __init__(self, source: Source, expressions: Mapping[str, pl.Expr]) -> None:
        self._source = source
        self._expressions = dict(expressions)
        self._root = {name: each.meta.root_names()[0] for name, each in expressions.items()}

    def column(self, name: str, rows: Rows | None) -> pl.Series:
        if name not in self._expressions:
            return self._source.column(name, rows)
        root = self._root[name]
        return self._source.column(root, rows).alias(root).to_frame().select(self._expressions[name]).to_series()

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        if name not in self._expressions:
            return self._source.find(name, texts, rows)
        return texts.numbers(self.column(name, rows))

    def filled(self, name: str, rows: Rows | None) -> npt.NDArray[np.bool_] | None:
        return None if name in self._expressions else self._source.filled(name, rows)


def pick(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """These columns of a frame, in this order: as ``select``, without the overhead of a Polars query."""
    if not names:
        return pl.DataFrame()
    return frame if frame.columns == list(names) else pl.DataFrame([frame.get_column(name) for name in names])


def without(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The other columns of a frame: as ``drop``, without the overhead of a Polars query."""
    kept = [name for name in frame.columns if name not in names]
    # A frame without columns keeps its height.
    return pick(frame, kept) if kept else frame.drop(frame.columns)


def _wanted_filled(predicate: pl.Expr) -> str | None:
    """The column, if the predicate only tests that it is not null."""
    names = predicate.meta.root_names()
    return names[0] if len(names) == 1 and predicate.meta.eq(pl.col(names[0]).is_not_null()) else None


@dataclass(frozen=True)
class Rest:
    """The rows of a frame that are left, by their indexes. If the rows of the frame are `distinct`, each of its columns
    has different values in all of them."""

    frame: pl.DataFrame
    index: Index
    distinct: bool = False

    def then(self, index: Rows) -> Rest:
        return replace(self, index=self.index.then(index))

    def without(self, names: Sequence[str]) -> Rest:
        return replace(self, frame=without(self.frame, names))

    def only(self, names: Sequence[str]) -> Rest:
        return replace(self, frame=pick(self.frame, [name for name in self.frame.columns if name in names]))


class Taken:
    """Columns that were built for more rows than are left. Each column is in one frame."""

    def __init__(self, rests: Sequence[Rest]) -> None:
        self._rests = rests

    @staticmethod
    def of(built: pl.DataFrame, index: Rows, before: Taken | None) -> Taken | None:
        """The rows at `index` of built columns, and of those that were taken before."""
        rests = [each.then(index) for each in before._rests] if before is not None else []
        own = without(built, before.names()) if before is not None else built
        if own.width:
            rests.append(Rest(own, Index((index,))))
        return Taken(rests) if rests else None

    @staticmethod
    def beside(before: Taken | None, rest: Rest) -> Taken:
        """Rows of a frame, beside those that were taken before."""
        kept = before.without(rest.frame.columns) if before is not None else None
        return Taken([*(kept._rests if kept is not None else ()), rest])

    def without(self, names: Sequence[str]) -> Taken | None:
        left = [each for each in (rest.without(names) for rest in self._rests) if each.frame.width]
        return Taken(left) if left else None

    def only(self, names: Sequence[str]) -> Taken:
        return Taken([rest.only(names) for rest in self._rests])

    def names(self) -> list[str]:
        return [name for rest in self._rests for name in rest.frame.columns]

    def has(self, name: str) -> bool:
        return self.source(name) is not None

    def source(self, name: str) -> Rest | None:
        """Where a column is taken from."""
        return next((rest for rest in self._rests if name in rest.frame.columns), None)


class Index:
    """The rows that are left after several steps, each of which took rows of the one before."""

    def __init__(self, steps: tuple[Rows, ...]) -> None:
        self._steps = steps

    def then(self, index: Rows) -> Index:
        return Index((*self._steps, index))

    @cached_property
    def numbers(self) -> Rows:
        rows = self._steps[0]
        for step in self._steps[1:]:
            rows = rows[step]
        return rows

    @cached_property
    def rows(self) -> pl.Series:
        """Row numbers of the type that Polars takes without a conversion."""
        return index_series(self.numbers)


class Late:
    """Rows over a source, over rows of other ones, or over a frame alone. Immutable for callers; built columns are
    cached."""

    def __init__(
        self,
        built: pl.DataFrame,
        *,
        source: Source | None = None,
        rows: Rows | None = None,
        height: int | None = None,
        first_position: int = 0,
        pure: bool = False,
        taken: Taken | None = None,
    ) -> None:
        self._built = built
        self._pure = pure
        """Whether all its columns are those of the source."""
        self._source = source
        self._rows = rows
        self._first_position = first_position
        self._taken = taken
        """Where columns come from that were built before the last rows were dropped. They are gathered when they are
        read: most of them never are. One that is also built has the same values there."""
        self.height = built.height if height is None else height

    @classmethod
    def of_source(cls, source: Source, rows: Rows | None, height: int, first_position: int) -> Late:
        return cls(pl.DataFrame(), source=source, rows=rows, height=height, first_position=first_position, pure=True)

    def frame(self, columns: Iterable[str]) -> pl.DataFrame:
        """A frame with just these columns, in this order."""
        names = list(dict.fromkeys(columns))
        built = self._built.columns
        missing = [name for name in names if name not in built]
        if missing and (self._source is not None or self._taken is not None):
            added = pl.DataFrame([self._build(name) for name in missing])
            self._built = added if self._built.width == 0 else self._built.hstack(added)
        return pick(self._built, names)

    def _build(self, name: str) -> pl.Series:
        taken = self._taken.source(name) if self._taken is not None else None
        if taken is not None:
            return taken.frame.get_column(name)[taken.index.rows]
        if self._source is None:
            raise pl.exceptions.ColumnNotFoundError(name)
        if name != POSITION:
            return self._source.column(name, self._rows).alias(name)
        rows = np.arange(self.height, dtype=np.int64) if self._rows is None else self._rows
        return pl.Series(name, rows + self._first_position)

    def _has_built(self, name: str) -> bool:
        return name in self._built.columns or (self._taken is not None and self._taken.has(name))

    def find(self, name: str, texts: TextSet) -> Numbers:
        """For each row, the number of its text among `texts` (0: not among them), without building the column if it
        is not built yet."""
        if self._source is None or self._has_built(name):
            return texts.numbers(self.frame([name]).to_series())
        return self._source.find(name, texts, self._rows)

    def numbers(self, name: str) -> Rows | None:
        """For each row, a number of its value in a column, the same one only for equal values; None if these are not
        known without comparing them. No value is null if they are known."""
        taken = self._taken.source(name) if self._taken is not None else None
        return taken.index.numbers if taken is not None and taken.distinct else None

    @property
    def has_position(self) -> bool:
        return self._source is not None or self._has_built(POSITION)

    def everything(self) -> pl.DataFrame:
        """The built columns; for rows without a source, all columns."""
        return self.frame(self._built_names())

    def _built_names(self) -> list[str]:
        own = self._built.columns
        before = self._taken.names() if self._taken is not None else []
        return [*(name for name in before if name not in own), *own]

    def beside(self, added: pl.DataFrame) -> Late:
        """All rows, with additional columns."""
        kept = without(self._built, added.columns)
        return Late(
            added if kept.width == 0 else kept.hstack(added),
            source=self._source,
            rows=self._rows,
            height=self.height,
            first_position=self._first_position,
            taken=self._taken.without(added.columns) if self._taken is not None else None,
        )

    def take(self, index: Rows, added: pl.DataFrame | None = None) -> Late:
        """The rows at `index` (which may repeat), with additional columns."""
        rows = None
        if self._source is not None:
            rows = index if self._rows is None else self._rows[index]
        taken = Taken.of(self._built, index, self._taken)
        return Late(
            pl.DataFrame() if added is None else added,
            source=self._source,
            rows=rows,
            height=len(index),
            first_position=self._first_position,
            pure=self._pure and added is None,
            taken=taken if added is None or taken is None else taken.without(added.columns),
        )

    def joined(self, index: Rows, frame: pl.DataFrame, rows: Rows) -> Late:
        """The rows at `index`, which may not repeat, each beside a row of a frame, whose columns are gathered when they
        are read."""
        return self._beside_rest(index, Rest(frame, Index((rows,))), pure=False)

    def matched(self, index: Rows, keys: pl.DataFrame, rows: Rows) -> Late:
        """The rows at `index`, which may not repeat, each with a row of distinct keys that equal its own."""
        return self._beside_rest(index, Rest(keys, Index((rows,)), distinct=True), pure=self._pure)

    def _beside_rest(self, index: Rows, rest: Rest, *, pure: bool) -> Late:
        left = self if len(index) == self.height else self.take(index)
        return Late(
            without(left._built, rest.frame.columns),
            source=left._source,
            rows=left._rows,
            height=left.height,
            first_position=left._first_position,
            pure=pure,
            taken=Taken.beside(left._taken, rest),
        )

    def converted(self, expressions: Mapping[str, pl.Expr], kept: Sequence[str]) -> Late | None:
        """Other columns, each an expression of one column of the source, computed when they are read, beside the `kept`
        ones. None if the columns are not those of a source."""
        if self._source is None or not self._pure:
            return None
        names = [name for name in kept if name in self._built.columns]
        return Late(
            pick(self._built, names) if names else pl.DataFrame(),
            source=Converted(self._source, expressions),
            rows=self._rows,
            height=self.height,
            first_position=self._first_position,
            pure=True,
            taken=None if self._taken is None else self._taken.only(kept),
        )

    def filter(self, predicates: Sequence[pl.Expr]) -> Late:
        """Applies predicates in order, each to the rows that passed the previous ones."""
        kept = self
        for predicate in predicates:
            index = kept._where(predicate)
            if index is not None:
                kept = kept.take(index)
        return kept

    def _where(self, predicate: pl.Expr) -> Rows | None:
        """The rows for which a predicate holds; None for all of them."""
        column = _wanted_filled(predicate)
        if column is not None and self._source is not None and not self._has_built(column):
            # A non-null test does not need the column's values.
            filled = self._source.filled(column, self._rows)
            if filled is not None:
                return None if filled.all() else np.flatnonzero(filled)
        mask = self.evaluate([predicate.alias("#mask")]).to_series()
        rows = true_rows(mask)
        return None if len(rows) == len(mask) else rows

    def evaluate(self, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
        """The values of the expressions, one per row."""
        columns = [name for expression in expressions for name in expression.meta.root_names()]
        if not columns:
            # Only literals: Polars would return one row instead of one per row.
            base = pl.DataFrame({"#row": np.zeros(self.height, dtype=np.int8)})
            return _materialised(base.with_columns(expressions).drop("#row"))
        frame = self.frame(columns)
        # Polars finds some expressions constant and has one value for them, which it refuses beside other columns.
        # Sequentially and in this thread: a Python function may suspend the step that it is part of.
        with suppress(pl.exceptions.InvalidOperationError, pl.exceptions.ShapeError):
            made = frame.select_seq(expressions)
            if made.height == frame.height:
                return _materialised(made)
        return pl.DataFrame([_one_per_row(frame, each) for each in expressions])

    def with_columns(self, expressions: Sequence[pl.Expr]) -> Late:
        return self.beside(self.evaluate(expressions))


def _one_per_row(frame: pl.DataFrame, expression: pl.Expr) -> pl.Series:
    column = frame.select_seq(expression).to_series()
    return column if len(column) == frame.height else column.new_from_index(0, frame.height)


def _materialised(frame: pl.DataFrame) -> pl.DataFrame:
    """With one value per row also in columns of a literal: Polars keeps only one value, and calls Python functions
    over such columns with one row."""
    return pl.DataFrame(frame.get_columns())
