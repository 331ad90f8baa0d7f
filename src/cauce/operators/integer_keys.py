"""Fast paths for groups with integer keys and sums of integers as states. All of them return None, or false, for other
rows, which Polars groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import polars as pl

from cauce.operators.partition import key_hashes
from cauce.scan.arrow import index_series
from cauce.scan.integers.columns import Values, all_values, column_of, is_constant
from cauce.scan.integers.groups import Keys, Order, combined_keys, run_starts, sorted_order, sum_runs
from cauce.scan.integers.key_bits import first_rows
from cauce.scan.integers.scatter import Placement, scatter

Columns = dict[str, Values]

_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Date)
_KEY = "#combined"
_CACHED_ROWS = 1 << 16
_MOST_SPLIT_BITS = 11
"""More ranges would be written in too many places at once."""
_FEWEST_ROWS = 10_000
_SAMPLE_ROWS = 1 << 13
"""About so many rows with different keys are the sample: those whose hash starts with zeros, so that all rows of a key
are in it, or none."""
_FIRST_ROWS = 1_000
"""If these have repeated keys, no sample is taken."""
_DISTINCT_SHARE = 0.8
_BITS_PER_ROW = 64
_FEW_BITS = 1 << 20
"""The range of the keys of a batch whose distinct ones are found by a set of bits."""


def is_mostly_distinct(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether grouping by integer keys would save less than a fifth of the rows. An estimate, the same everywhere."""
    if frame.height < _FEWEST_ROWS or not _are_integers(frame, keys):
        return False
    if frame.select(keys).head(_FIRST_ROWS).n_unique() < _DISTINCT_SHARE * _FIRST_ROWS:
        return False
    hashes = key_hashes(frame, keys).to_numpy()
    bits = (frame.height // _SAMPLE_ROWS).bit_length()
    sample = hashes[hashes < np.uint64((1 << (64 - bits)) - 1)]
    return len(sample) > 0 and len(np.unique(sample)) >= _DISTINCT_SHARE * len(sample)


def distinct_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The distinct rows, in order of their first occurrence."""
    found = _keys(frame, frame.columns) if frame.width == 1 else None
    if found is None:
        return frame.unique(maintain_order=True)
    keys = found[0].astype(np.int64, copy=False)
    low, high = int(keys.min()), int(keys.max())
    if high - low >= max(_BITS_PER_ROW * len(keys), _FEW_BITS):
        return frame.unique(maintain_order=True)
    rows = first_rows(keys, low, high - low + 1)
    return frame if len(rows) == len(keys) else frame[index_series(rows)]


def is_sorted(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether the rows are known to be in ascending order of integer keys."""
    found = _keys(frame, keys)
    if found is None:
        return False
    combined = combined_keys(found)
    return combined is not None and bool((combined[0][1:] >= combined[0][:-1]).all())


def add_groups(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame | None:
    """One row for each key, in ascending order, with the sums of all other columns; None if the keys are no integers,
    or a sum might exceed 64 bits."""
    if not _are_integers(frame, keys):
        return None
    values = all_values(frame)
    if values is None or not frame.height:
        return None
    named = dict(zip(frame.columns, values, strict=True))
    if any(_may_overflow(each) for name, each in named.items() if name not in keys):
        return None
    combined = combined_keys([named[key] for key in keys])
    if combined is None:
        return None
    groups = [_added(each, bits, set(keys)) for each, bits in _in_cache(named, *combined)]
    return pl.DataFrame(
        [
            column_of(
                name, groups[0][name] if len(groups) == 1 else np.concatenate([each[name] for each in groups]), dtype
            )
            for name, dtype in frame.schema.items()
        ]
    )


def _in_cache(columns: Columns, keys: Keys, bits: int) -> Iterator[tuple[Columns, int]]:
    """The rows in ranges of their combined keys, ascending, each of which fits into the cache of a processor. Keys are
    in the column `KEY`; only their lowest bits differ."""
    split_bits = min(max((len(keys) // _CACHED_ROWS).bit_length(), 0), _MOST_SPLIT_BITS, bits)
    if not split_bits:
        yield {**columns, _KEY: keys}, bits
        return
    placement = Placement.of(keys, 1 << split_bits, 1 << (bits - split_bits))
    positions = placement.positions()
    moved = {name: scatter(values, positions) for name, values in {**columns, _KEY: keys}.items()}
    for start, count in zip(placement.starts.tolist(), placement.counts.tolist(), strict=True):
        if count:
            yield {name: values[start : start + count] for name, values in moved.items()}, bits - split_bits


def _added(columns: Columns, bits: int, keys: Collection[str]) -> Columns:
    ordered, order = sorted_order(columns[_KEY], bits)
    starts = run_starts(ordered)
    # NumPy takes twice as long by indexes of another type.
    firsts = (order if len(starts) == len(order) else order[starts.astype(np.intp)]).astype(np.intp)
    if len(starts) == len(order):
        return {name: values[firsts] for name, values in columns.items() if name != _KEY}
    return {
        name: values[firsts] if name in keys else _sums(values, order, starts)
        for name, values in columns.items()
        if name != _KEY
    }


def _sums(values: Values, order: Order, starts: Order) -> Values:
    if is_constant(values):
        return np.diff(starts, append=np.int32(len(order))).astype(np.int64) * int(values[0])
    return sum_runs(values.astype(np.int64, copy=False), order, starts)


def _are_integers(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    return all(frame.schema[key] in _INTEGERS and not frame.get_column(key).null_count() for key in keys)


def _keys(frame: pl.DataFrame, keys: Sequence[str]) -> list[Values] | None:
    if not frame.height or not _are_integers(frame, keys):
        return None
    return all_values(frame.select(keys))


def _may_overflow(values: Values) -> bool:
    return max(abs(int(values.min())), abs(int(values.max()))) * len(values) >= 1 << 63
