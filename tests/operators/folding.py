"""Runs a group-by whole or in batches, for tests to compare."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cauce.operators.aggregates import ALL, Aggregate, Aggregates, final, merge, partial
from cauce.operators.order import POSITION


def placed(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds the row position and the key of a group-by without keys, as a source does."""
    return frame.with_row_index(POSITION).with_columns(pl.col(POSITION).cast(pl.Int64), pl.lit(0).alias(ALL))


def fold(batches: Sequence[pl.DataFrame], keys: Sequence[str], aggregates: Aggregates) -> pl.DataFrame:
    partials = [partial(batch, keys, aggregates) for batch in batches]
    return final(merge(pl.concat(partials), keys, aggregates), keys, aggregates)


def one(aggregate: Aggregate, values: pl.Series) -> object:
    """The aggregate of all values, one row, no key."""
    return fold([placed(values.alias("v").to_frame())], [], {"out": aggregate})["out"].to_list()[0]
