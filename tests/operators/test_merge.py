"""Partial, merge, final: the result does not depend on how rows are batched and batches are merged."""

from __future__ import annotations

import random
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Collect, Count, First, Max, Mean, Min, Quantile, Sum, final, merge, partial
from tests.operators.folding import fold, placed

AGGREGATES = {
    "rows": Count(),
    "texts": Count("t"),
    "whole": Sum("i"),
    "money": Sum("d"),
    "floats": Sum("f"),
    "mean_whole": Mean("i"),
    "mean_money": Mean("d"),
    "mean_float": Mean("f"),
    "least": Min("t"),
    "greatest": Max("d"),
    "least_float": Min("f"),
    "first": First("t"),
    "median": Quantile("f", 0.5),
    "all": Collect("t"),
}
SCHEMA = {"k": pl.Int64, "i": pl.Int64, "d": pl.Decimal(38, 18), "f": pl.Float64, "t": pl.String}

rows_strategy = st.lists(
    st.tuples(
        st.none() | st.integers(0, 2),
        st.none() | st.integers(-(2**55), 2**55),
        st.none() | st.decimals(-(10**16), 10**16, places=4),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.text(max_size=3),
    ),
    max_size=12,
)


def frame_of(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return placed(pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def merged_at_random(rng: random.Random, batches: list[pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    """Merges of merges, in any order and nesting."""
    partials = [partial(batch, keys, AGGREGATES) for batch in batches]
    while len(partials) > 1:
        rng.shuffle(partials)
        some = rng.randint(2, len(partials))
        partials = [merge(pl.concat(partials[:some]), keys, AGGREGATES), *partials[some:]]
    return final(merge(partials[0], keys, AGGREGATES), keys, AGGREGATES)


def cut_at_random(rng: random.Random, frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Batches of any size, including empty ones, with the rows in any order."""
    shuffled = frame[rng.sample(range(frame.height), frame.height)] if frame.height else frame
    cuts = sorted(rng.randint(0, frame.height) for _ in range(rng.randint(0, 4)))
    return [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, frame.height], strict=True)]


@pytest.mark.slow
@settings(max_examples=60)
@given(rows_strategy, st.sampled_from([["k"], [], ["k", "t"]]), st.randoms(use_true_random=False))
def test_any_split_and_any_nesting_of_merges_gives_the_result_of_one_batch(
    rows: list[tuple[object, ...]], keys: list[str], rng: random.Random
) -> None:
    frame = frame_of(rows)
    whole = fold([frame], keys, AGGREGATES)
    assert_frame_equal(merged_at_random(rng, cut_at_random(rng, frame), keys), whole, check_exact=True)


def test_a_second_merge_changes_nothing() -> None:
    frame = frame_of([(1, 2, Decimal("0.5"), 1e308, "a"), (1, 3, None, 1e308, "b"), (2, None, None, None, None)])
    once = merge(partial(frame, ["k"], AGGREGATES), ["k"], AGGREGATES)
    assert_frame_equal(merge(once, ["k"], AGGREGATES), once)
