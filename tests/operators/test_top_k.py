"""The first k rows, of all rows or per key."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.operators.order import Ratio, SortKey, desc
from cauce.operators.top_k import Ties, top_k

SALES = pl.DataFrame(
    {
        "shop": ["n", "s", "n", "s", "n", None],
        "item": ["a", "b", "c", "d", "e", "f"],
        "sold": [5, 7, 9, 7, 9, 99],
    }
)
BY = [desc("sold"), SortKey("item")]


def items(frame: pl.DataFrame) -> list[str]:
    return frame["item"].to_list()


def test_the_first_k_of_all_rows_in_order() -> None:
    assert items(top_k(SALES, 3, BY)) == ["f", "c", "e"]


def test_fewer_rows_than_k_all_stay() -> None:
    assert items(top_k(SALES[:2], 3, BY)) == ["b", "a"]


def test_the_first_k_of_each_key() -> None:
    assert items(top_k(SALES, 1, BY, ["shop"])) == ["c", "b"]


def test_rows_with_a_null_key_are_dropped() -> None:
    assert "f" not in items(top_k(SALES, 9, BY, ["shop"]))


def test_ties_are_cut_by_the_remaining_columns() -> None:
    assert items(top_k(SALES, 1, [desc("sold")], ["shop"])) == ["c", "b"]


def test_ties_with_the_last_one_stay_when_asked() -> None:
    assert items(top_k(SALES, 1, [desc("sold")], ["shop"], "all")) == ["c", "e", "b", "d"]


def test_ties_of_all_rows_stay_when_asked() -> None:
    assert items(top_k(SALES, 2, [desc("sold")], (), "all")) == ["f", "c", "e"]


def test_rows_that_tie_only_by_rounding_are_not_ties() -> None:
    big = 10**17
    rows = pl.DataFrame({"item": ["a", "b"], "n": [big, big + 1], "d": [big + 1, big + 2]})
    assert items(top_k(rows, 1, [desc(Ratio("n", "d"))], (), "all")) == ["b"]


def test_the_top_of_no_rows_is_empty() -> None:
    assert top_k(SALES.clear(), 3, BY, ["shop"], "all").schema == SALES.schema


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.none() | st.integers(0, 2), st.integers(0, 3), st.integers(1, 3)), max_size=14),
    st.integers(1, 4),
    st.sampled_from([(), ("k",)]),
    st.sampled_from(["cut", "all"]),
    st.sampled_from([desc("v"), SortKey(Ratio("v", "w"))]),
    st.randoms(use_true_random=False),
)
def test_the_top_k_of_a_union_of_top_k_results_is_exact(
    rows: list[tuple[int | None, int, int]],
    k: int,
    per: tuple[str, ...],
    ties: Ties,
    by: SortKey,
    rng: random.Random,
) -> None:
    frame = pl.DataFrame(rows, schema={"k": pl.Int64, "v": pl.Int64, "w": pl.Int64}, orient="row")
    cut = rng.randint(0, frame.height)
    tops = [top_k(frame[:cut], k, [by], per, ties), top_k(frame[cut:], k, [by], per, ties)]
    rng.shuffle(tops)
    assert top_k(pl.concat(tops), k, [by], per, ties).rows() == top_k(frame, k, [by], per, ties).rows()
