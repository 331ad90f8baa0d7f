"""Each aggregate on its own: nulls, empty input, exact types, groups."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from cauce.operators.aggregates import (
    Aggregate,
    Collect,
    Count,
    First,
    Max,
    Mean,
    Min,
    Mode,
    Quantile,
    Sum,
    final,
    partial,
)
from tests.operators.folding import fold, one, placed

NUMBERS = pl.Series([4, None, 1, 3])
NULLS = pl.Series([None, None], dtype=pl.Int64)
NOTHING = pl.Series([], dtype=pl.Int64)
MONEY = pl.Decimal(38, 18)


@pytest.mark.parametrize(
    ("aggregate", "some", "nulls", "nothing"),
    [
        (Count(), 4, 2, 0),
        (Count("v"), 3, 0, 0),
        (Sum("v"), 8, 0, 0),
        (Mean("v"), 8 / 3, None, None),
        (Min("v"), 1, None, None),
        (Max("v"), 4, None, None),
        (First("v"), 4, None, None),
        (Quantile("v", 0.5), 3.0, None, None),
        (Collect("v"), [1, 3, 4], [], []),
    ],
    ids=repr,
)
def test_of_values_of_nulls_and_of_an_empty_input(
    aggregate: Aggregate, some: object, nulls: object, nothing: object
) -> None:
    assert one(aggregate, NUMBERS) == some
    assert one(aggregate, NULLS) == nulls
    assert one(aggregate, NOTHING) == nothing


@pytest.mark.parametrize("aggregate", [Sum("v"), Mean("v"), Min("v"), Max("v"), Collect("v"), Quantile("v", 0.5)])
def test_without_keys_no_rows_keep_the_type_of_some_rows(aggregate: Aggregate) -> None:
    for values in (NUMBERS, NUMBERS.cast(pl.Float64), NUMBERS.cast(MONEY)):
        some = fold([placed(values.alias("v").to_frame())], [], {"out": aggregate})
        none = fold([placed(values.clear().alias("v").to_frame())], [], {"out": aggregate})
        assert some.schema == none.schema


def test_first_is_the_row_with_the_lowest_position_in_any_arrival_order() -> None:
    rows = placed(pl.DataFrame({"v": ["early", "late"]}))
    assert fold([rows[1:], rows[:1]], [], {"out": First("v")})["out"].to_list() == ["early"]


def test_first_is_null_if_the_first_row_is_null() -> None:
    assert one(First("v"), pl.Series([None, "later"])) is None


def test_a_sum_of_decimals_is_exact() -> None:
    values = pl.Series([Decimal("0.1")] * 10 + [Decimal("12345678901234567.000000000000000001")], dtype=MONEY)
    assert one(Sum("v"), values) == Decimal("12345678901234568.000000000000000001")


def test_a_mean_of_decimals_is_divided_once() -> None:
    assert one(Mean("v"), pl.Series([Decimal("0.1"), Decimal("0.2"), Decimal("0.3")], dtype=MONEY)) == 0.2


def test_a_partial_sum_of_integers_may_exceed_64_bits() -> None:
    assert one(Sum("v"), pl.Series([2**63 - 1, 2**63 - 1, -(2**63), -(2**63) + 5])) == 3


def test_a_mean_of_integers_may_have_a_sum_beyond_64_bits() -> None:
    assert one(Mean("v"), pl.Series([2**63 - 1, 2**63 - 1])) == float(2**63)


def test_small_integer_types_do_not_wrap() -> None:
    assert one(Sum("v"), pl.Series([127, 127], dtype=pl.Int8)) == 254


def test_many_groups_with_large_decimals_do_not_overflow() -> None:
    rows = placed(pl.DataFrame({"k": range(40), "v": pl.Series([Decimal(10**19)] * 40, dtype=MONEY)}))
    assert fold([rows], ["k"], {"out": Sum("v")})["out"].to_list() == [Decimal(10**19)] * 40


def test_min_and_max_of_text_compare_by_code_point() -> None:
    texts = pl.Series(["é", "z", "Z", "😀", "\ufffd"])
    assert one(Min("v"), texts) == "Z"
    assert one(Max("v"), texts) == "😀"


def test_min_and_max_of_dates() -> None:
    days = pl.Series([dt.date(2024, 2, 1), dt.date(2023, 12, 31)])
    assert (one(Min("v"), days), one(Max("v"), days)) == (dt.date(2023, 12, 31), dt.date(2024, 2, 1))


def test_a_quantile_interpolates_between_ranks() -> None:
    assert one(Quantile("v", 0.9), pl.Series([0, 1, 2, 3, 4])) == pytest.approx(3.6)


@pytest.mark.parametrize(("q", "expected"), [(0.0, 1.0), (1.0, 4.0)])
def test_the_outer_quantiles_are_min_and_max(q: float, expected: float) -> None:
    assert one(Quantile("v", q), NUMBERS) == expected


def test_collect_keeps_equal_values() -> None:
    assert one(Collect("v"), pl.Series(["b", "a", "b", None])) == ["a", "b", "b"]


def test_null_keys_have_no_group() -> None:
    rows = pl.DataFrame({"k": ["a", None, "a"], "m": [1, 1, None]})
    assert fold([rows], ["k"], {"n": Count()}).rows() == [("a", 2)]
    assert fold([rows], ["k", "m"], {"n": Count()}).rows() == [("a", 1, 1)]


def test_groups_come_out_in_the_order_of_their_keys() -> None:
    rows = pl.DataFrame({"k": ["b", "é", "a", "Z"]})
    assert fold([rows], ["k"], {})["k"].to_list() == ["Z", "a", "b", "é"]


def test_groups_that_conditions_keep_come_out_in_the_order_of_their_keys() -> None:
    texts = ["b", "é", "a", "Z", "b", "Z", "q", "é", "é"]
    states = partial(pl.DataFrame({"k": texts, "m": 1}), ["k", "m"], {"n": Count()})
    having = [pl.col("n") >= 2, pl.col("k") != "b"]
    made = final(states, ["k", "m"], {"n": Count()}, having=having)
    assert made.columns == ["k", "m", "n"]
    assert made.rows() == sorted((k, 1, texts.count(k)) for k in set(texts) - {"b"} if texts.count(k) >= 2)


def test_no_rows_have_no_groups() -> None:
    rows = pl.DataFrame(schema={"k": pl.String, "v": pl.Float64})
    assert fold([rows], ["k"], {"s": Sum("v"), "m": Mean("v")}).height == 0


def test_a_group_of_nulls_alone_is_a_group() -> None:
    rows = pl.DataFrame({"k": [1, 2], "v": [None, 5]})
    assert fold([rows], ["k"], {"s": Sum("v"), "n": Count("v")}).rows() == [(1, 0, 0), (2, 5, 1)]


@pytest.mark.parametrize("keys", [[0.0, -0.0], [-0.0, 0.0]])
def test_zero_and_minus_zero_are_one_key_that_shows_as_zero(keys: list[float]) -> None:
    batches = [pl.DataFrame({"k": [key]}) for key in keys]
    assert repr(fold(batches, ["k"], {"n": Count()}).rows()) == "[(0.0, 2)]"


@pytest.mark.parametrize("values", [[0.0, -0.0], [-0.0, 0.0]])
def test_zero_and_minus_zero_are_one_value(values: list[float]) -> None:
    assert repr(one(Min("v"), pl.Series(values))) == "0.0"
    assert repr(one(Max("v"), pl.Series(values))) == "0.0"


def test_an_aggregate_that_the_planner_should_have_replaced_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Mode"):
        partial(pl.DataFrame({"v": [1]}), ["v"], {"m": Mode("v")})
