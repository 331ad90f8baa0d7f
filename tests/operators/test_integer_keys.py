"""Groups with integer keys equal those of Polars, whether their states were merged by kernels or not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Count, Max, Mean, Min, NullableSum, Sum, final, merge, partial
from cauce.operators.integer_keys import add_groups, distinct_rows, is_mostly_distinct, is_sorted

ROWS = 20_000
RNG = np.random.default_rng(3)


def rows(keys: int) -> pl.DataFrame:
    values = pl.Series(RNG.integers(-1000, 1000, ROWS)).set(pl.Series(RNG.random(ROWS) < 0.1), None)
    return pl.DataFrame({"k": RNG.integers(0, keys, ROWS), "j": RNG.integers(0, 3, ROWS), "v": values})


AGGREGATES = {"n": Count(), "c": Count("v"), "s": Sum("v"), "m": Mean("v"), "t": NullableSum("v")}
EXTREMES = {**AGGREGATES, "low": Min("v"), "high": Max("v")}


def expected(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    v = pl.col("v")
    whole = v.sum().cast(pl.Int128)
    return (
        frame.group_by(keys)
        .agg(
            n=pl.len().cast(pl.Int64), c=v.count().cast(pl.Int64), s=whole, m=v.mean(),
            t=pl.when(v.count() > 0).then(whole), low=v.min(), high=v.max(),
        )
        .sort(keys)
    )  # fmt: skip


@pytest.mark.parametrize("keys", [["k"], ["k", "j"]])
@pytest.mark.parametrize("spread", [50, 10**9])
@pytest.mark.parametrize("names", [AGGREGATES, EXTREMES], ids=["sums", "extremes"])
def test_groups_are_those_of_polars(keys: list[str], spread: int, names: dict[str, Count]) -> None:
    frame = rows(spread)
    states = [partial(frame.slice(at, ROWS // 2), keys, names, may_repeat=True) for at in (0, ROWS // 2)]
    found = final(merge(pl.concat(states), keys, names), keys, names)
    assert_frame_equal(found, expected(frame, keys).select([*keys, *names]))


def test_rows_with_different_keys_are_not_grouped() -> None:
    frame = rows(10**9)
    states = partial(pl.concat([frame, frame.head(10)]), ["k"], AGGREGATES, may_repeat=True)
    assert states.height == ROWS + 10


def test_rows_with_equal_keys_are_grouped() -> None:
    frame = rows(50)
    assert partial(frame, ["k"], AGGREGATES, may_repeat=True).height == 50
    assert not is_mostly_distinct(frame, ["k"])


def test_each_state_is_alone_unless_groups_may_repeat() -> None:
    frame = pl.concat([rows(10**9)] * 1)
    doubled = pl.concat([frame, frame.head(10)])
    assert partial(doubled, ["k"], AGGREGATES).height == doubled["k"].n_unique()


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"k": ["a", "b"], "n": [1, 2]}),
        pl.DataFrame({"k": [1, None], "n": [1, 2]}),
        pl.DataFrame({"k": [1, 1], "n": [2**62, 2**62]}),
        pl.DataFrame({"k": [-(2**63), 2**63 - 1], "n": [1, 2]}),
    ],
    ids=["texts", "a null", "a sum of more than 64 bits", "keys of more than 63 bits"],
)
def test_other_rows_are_left_to_polars(frame: pl.DataFrame) -> None:
    assert add_groups(frame, ["k"]) is None


def test_order_of_keys() -> None:
    assert is_sorted(pl.DataFrame({"a": [1, 1, 2], "b": [1, 2, 0]}), ["a", "b"])
    assert not is_sorted(pl.DataFrame({"a": [1, 1, 2], "b": [2, 1, 0]}), ["a", "b"])
    assert not is_sorted(pl.DataFrame({"a": ["a", "b"]}), ["a"])


@pytest.mark.parametrize("spread", [1, 50, 10**5, 10**15])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Int32, pl.Date])
def test_distinct_rows_are_those_of_polars(spread: int, dtype: pl.DataType) -> None:
    most = min(spread, 10**6) if dtype != pl.Int64 else spread
    frame = pl.DataFrame({"k": pl.Series(RNG.integers(-most, most, ROWS)).cast(dtype)})
    assert_frame_equal(distinct_rows(frame), frame.unique(maintain_order=True))


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"k": [1, None, 1, None]}),
        pl.DataFrame({"k": [1, 1], "j": [2, 2]}),
        pl.DataFrame({"k": ["a", "a"]}),
        pl.DataFrame({"k": []}, schema={"k": pl.Int64}),
    ],
)
def test_other_rows_are_distinct_too(frame: pl.DataFrame) -> None:
    assert_frame_equal(distinct_rows(frame), frame.unique(maintain_order=True))


def test_sums_of_decimals_are_those_of_polars() -> None:
    cents = pl.Series("v", RNG.integers(-(10**6), 10**6, ROWS)).cast(pl.Decimal(15, 2)) / 100
    frame = pl.DataFrame({"k": RNG.integers(0, 3000, ROWS), "v": cents.cast(pl.Decimal(15, 2))})
    names = {"s": Sum("v"), "t": NullableSum("v"), "m": Mean("v")}
    states = [partial(frame.slice(at, ROWS // 2), ["k"], names, may_repeat=True) for at in (0, ROWS // 2)]
    merged = merge(pl.concat(states), ["k"], names)
    found = final(merged, ["k"], names)
    total = frame.group_by("k").agg(s=pl.col("v").cast(pl.Decimal(38, 2)).sum(), m=pl.col("v").cast(pl.Float64).mean())
    assert found.select("k", "s").equals(total.sort("k").select("k", "s"))
    assert found["s"].equals(found["t"])
    assert found["m"].to_list() == pytest.approx(total.sort("k")["m"].to_list())
    assert add_groups(pl.concat(states), ["k"]) is not None
