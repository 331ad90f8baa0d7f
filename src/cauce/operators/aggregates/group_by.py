"""A group-by in three steps: `partial` on a batch, `merge` of partials in any order, `final` at the end.

Rows with a null key are dropped, unless `nulls` makes null a key like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cauce.operators.aggregates.base import Aggregates, Batch, Numbers
from cauce.operators.aggregates.row_sums import row_sums
from cauce.operators.exact import one_zero
from cauce.operators.integer_keys import add_groups, is_mostly_distinct, is_sorted
from cauce.operators.late import Late, pick
from cauce.operators.order import sort_by

ALL = "#all"
"""The constant key column of a group-by without keys; the frame passed to `partial` must have it."""

_MANY_ROWS = 100_000
_SOME_ROWS = 5_000


def partial(
    frame: pl.DataFrame,
    keys: Sequence[str],
    aggregates: Aggregates,
    *,
    nulls: bool = False,
    may_repeat: bool = False,
    numbers: Sequence[Numbers | None] = (),
) -> pl.DataFrame:
    """The state of each group of this batch, in order of first occurrence. If groups `may_repeat`, and nearly all rows
    have different integer keys, each row is a group. `numbers` are those of the values of the keys, as far as they are
    known."""
    keys = keys or (ALL,)
    if not nulls and any(frame.get_column(key).null_count() for key in keys):
        frame, numbers = frame.drop_nulls(list(keys)), ()
    batch = Batch(_canonical(frame), keys, numbers)
    if may_repeat and is_mostly_distinct(batch.frame, keys):
        states = _of_rows(batch, aggregates)
        if states is not None:
            return states
    states = row_sums(batch, aggregates)
    if states is not None:
        return _finished(batch, states, aggregates)
    expressions = [each for name, aggregate in aggregates.items() for each in aggregate.partial(batch, name)]
    return _finished(batch, _group(batch.frame, keys, expressions), aggregates)


def merge(frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates, *, in_order: bool = False) -> pl.DataFrame:
    """Merges the concatenated states of any number of batches into one per group; with `in_order`, in order of first
    occurrence."""
    batch = Batch(frame, keys or (ALL,))
    if not in_order and frame.height >= _SOME_ROWS and are_added(frame, aggregates):
        groups = add_groups(frame, batch.keys)
        if groups is not None:
            return groups
    expressions = [each for name, aggregate in aggregates.items() for each in aggregate.merge(batch, name)]
    return _finished(batch, _merge_groups(frame, batch.keys, expressions, in_order), aggregates)


def merge_rows(
    frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates, *, nulls: bool = False
) -> pl.DataFrame:
    """As `partial`, of rows that have states of other groups instead of values."""
    keys = keys or (ALL,)
    if not nulls and any(frame.get_column(key).null_count() for key in keys):
        frame = frame.drop_nulls(list(keys))
    return merge(_canonical(frame), keys, aggregates, in_order=True)


def are_added(frame: pl.DataFrame, aggregates: Aggregates) -> bool:
    """Whether all states of the aggregates, with the columns of this frame, are merged by adding integers."""
    return all(aggregate.adds(frame.schema, name) for name, aggregate in aggregates.items())


def final(
    frame: pl.DataFrame, keys: Sequence[str], aggregates: Aggregates, *, having: Sequence[pl.Expr] = ()
) -> pl.DataFrame:
    """The aggregates' values from merged states, ordered by key, of the groups for which all predicates of `having` are
    true; without keys, always one row before that."""
    if not keys and frame.is_empty():
        frame = _of_no_rows(frame, aggregates)
    values = [aggregate.final(frame, name).alias(name) for name, aggregate in aggregates.items()]
    result = pl.DataFrame([*(frame[key] for key in keys), *values])
    if having:
        result = Late(result).filter(having).frame(result.columns)
    if keys and is_sorted(result, keys):
        return result
    if not keys:
        return result
    # Groups that differ in their first key are ordered by it alone.
    by = keys[:1] if result.get_column(keys[0]).n_unique() == result.height else keys
    return sort_by(result, [pl.col(key) for key in by], [False] * len(by))


def _of_rows(batch: Batch, aggregates: Aggregates) -> pl.DataFrame | None:
    """The state of each row; None if some aggregate needs more than expressions for it."""
    expressions: list[pl.Expr] = []
    for name, aggregate in aggregates.items():
        made = aggregate.of_row(batch.frame.schema, name)
        if made is None:
            return None
        expressions += made
    states = batch.frame.select([*batch.keys, *expressions])
    # One value per row also in columns of a literal.
    return _finished(batch, pl.DataFrame(states.get_columns()), aggregates)


def _canonical(frame: pl.DataFrame) -> pl.DataFrame:
    """Replaces -0.0 by 0.0 in keys and values, so that no group depends on which came first."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return frame.with_columns(one_zero(pl.col(name)).alias(name) for name in floats) if floats else frame


def _group(frame: pl.DataFrame, keys: Sequence[str], expressions: list[pl.Expr]) -> pl.DataFrame:
    return frame.group_by(list(keys), maintain_order=True).agg(expressions)


def _merge_groups(frame: pl.DataFrame, keys: Sequence[str], expressions: list[pl.Expr], in_order: bool) -> pl.DataFrame:
    """As ``_group``, but unordered unless `in_order`: `final` sorts the merged states."""
    if in_order or frame.height < _MANY_ROWS:
        return _group(frame, keys, expressions)
    # The streaming engine takes half the time if there are many groups.
    return frame.lazy().group_by(list(keys)).agg(expressions).collect(engine="streaming")


def _finished(batch: Batch, groups: pl.DataFrame, aggregates: Aggregates) -> pl.DataFrame:
    for finish in batch.finish:
        groups = finish(groups)
    there = set(groups.columns)
    state = [column for name, each in aggregates.items() for column in each.state(name) if column in there]
    return pick(groups, [*batch.keys, *state])


def _of_no_rows(frame: pl.DataFrame, aggregates: Aggregates) -> pl.DataFrame:
    """The state of an empty input."""
    values: dict[str, pl.Expr] = {}
    for name, aggregate in aggregates.items():
        values |= aggregate.empty(frame.schema, name)
    return frame.clear(n=1).with_columns(**values)
