"""Partial states that are sums over the rows of a group, by kernels: counts, and sums of integers and decimals. Returns
None wherever Polars has to group the rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.aggregates.base import Addend, Aggregates, Batch, Numbers
from cauce.operators.wide_sum import sums_fit
from cauce.scan.arrow import index_series
from cauce.scan.csv.short_text import short_views
from cauce.scan.integers.columns import column_of, is_fixed_width, values_of
from cauce.scan.integers.group_numbers import Groups, group_rows
from cauce.scan.integers.numbering import number_keys
from cauce.scan.integers.wide import decimals, words_of
from cauce.scan.text_hash import text_hashes

_MOST_SLOTS = 1 << 16
"""Combinations of keys that are always numbered by a table of all of them."""
_SLOTS_PER_ROW = 4
_SHORT_BYTES = 4
"""Texts up to this length are compared as numbers."""


def row_sums(batch: Batch, aggregates: Aggregates) -> pl.DataFrame | None:
    """The states of all groups, in order of first occurrence."""
    frame = batch.frame
    if not frame.height:
        return None
    values = _RowValues(frame)
    addends: dict[str, Addend] = {}
    for name, aggregate in aggregates.items():
        made = aggregate.addends(values, name)
        if made is None:
            return None
        addends |= made
    groups = _groups(batch)
    if groups is None:
        return None
    firsts = index_series(groups.firsts)
    keys = [frame.get_column(key)[firsts] for key in batch.keys]
    return pl.DataFrame([*keys, *(_state(name, each, groups) for name, each in addends.items())])


def _state(name: str, addend: Addend, groups: Groups) -> pl.Series:
    if addend.values is None:
        return column_of(name, groups.sizes * addend.constant, addend.dtype)
    sums = groups.sums(addend.values)
    if isinstance(addend.dtype, pl.Decimal) and sums.ndim > 1:
        return decimals(sums, addend.dtype).alias(name)
    return column_of(name, sums, addend.dtype)


@dataclass
class _RowValues:
    """The values of columns, each converted once."""

    frame: pl.DataFrame
    _found: dict[str, npt.NDArray[np.int64] | None] = field(default_factory=dict)

    def dtype(self, column: str) -> pl.DataType:
        return self.frame.schema[column]

    def filled(self, column: str) -> Numbers | None:
        found = self.frame.get_column(column)
        return found.is_not_null().cast(pl.Int64).to_numpy() if found.null_count() else None

    def of(self, column: str) -> Numbers | None:
        if column not in self._found:
            self._found[column] = self._values(self.frame.get_column(column))
        return self._found[column]

    def _values(self, column: pl.Series) -> Numbers | None:
        is_decimal = isinstance(column.dtype, pl.Decimal)
        if not (column.dtype.is_integer() or is_decimal):
            return None
        values = values_of(column) if is_fixed_width(column.dtype) else None
        if values is not None and max(-int(values.min()), int(values.max())) * len(values) < 1 << 63:
            return values.astype(np.int64, copy=False)
        if not is_decimal or not sums_fit(self.frame, (), column.name):
            return None
        return words_of(column.fill_null(0) if column.null_count() else column)


def _groups(batch: Batch) -> Groups | None:
    """The group of each row; None if a key is neither an integer nor a text, or all together exceed 63 bits."""
    known = batch.numbers or [None] * len(batch.keys)
    first, *others = (
        _near(_numbers(batch.frame.get_column(key)) if numbers is None else numbers)
        for key, numbers in zip(batch.keys, known, strict=True)
    )
    for other in others:
        if first is None or other is None or first.size * other.size >= 1 << 63:
            return None
        numbers = (first.numbers - first.low) * other.size + (other.numbers - other.low)
        first = _Keys(numbers, 0, first.size * other.size)
    near = _near(None if first is None else first.numbers) if others else first
    return None if near is None else group_rows(near.numbers, near.low, near.size)


@dataclass(frozen=True)
class _Keys:
    """A number for each row, from `low` on, in a range of `size` numbers."""

    numbers: Numbers
    low: int
    size: int


def _numbers(key: pl.Series) -> Numbers | None:
    """A number for each value of a key; None for other keys."""
    if key.null_count():
        return None
    if key.dtype == pl.String:
        codes = _short_texts(key)
        return _numbered_texts(key) if codes is None else codes
    if not (key.dtype.is_integer() or key.dtype == pl.Date) or key.dtype == pl.UInt64:
        return None
    values = values_of(key)
    return None if values is None else values.astype(np.int64, copy=False)


def _near(numbers: Numbers | None) -> _Keys | None:
    """The same numbers, or those of their first occurrences if they are far apart."""
    if numbers is None:
        return None
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < max(_SLOTS_PER_ROW * len(numbers), _MOST_SLOTS):
        return _Keys(numbers, low, high - low + 1)
    groups = number_keys(np.ascontiguousarray(numbers).view(np.uint64))
    return _Keys(groups.numbers.astype(np.int64), 0, len(groups.firsts))


def _numbered_texts(key: pl.Series) -> Numbers | None:
    """Texts as the numbers of their first occurrences: by their views, or by their hashes if they are longer. None if
    different ones have the same hash."""
    views = short_views(key)
    if views is not None:
        return number_keys(views).numbers.astype(np.int64)
    groups = number_keys(text_hashes(key))
    first = key[index_series(groups.firsts)][index_series(groups.numbers)]
    return groups.numbers.astype(np.int64) if bool((first == key).all()) else None


def _short_texts(key: pl.Series) -> Numbers | None:
    """Texts of a few bytes as numbers; None if one is longer."""
    array = (key.rechunk() if key.n_chunks() > 1 else key).to_arrow(compat_level=pl.CompatLevel.newest())
    views = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array), 0]
    lengths = views & 0xFFFFFFFF
    longest = int(lengths.max())
    if longest > _SHORT_BYTES:
        return None
    # The first bytes of a text follow its length; those after its end are zero.
    texts: Numbers = (views >> 32) & 0xFFFFFFFF
    return texts + (lengths << 8) if longest <= 1 else texts + (lengths << 32)
