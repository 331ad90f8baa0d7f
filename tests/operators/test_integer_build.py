"""Joins by dense integers: the same rows, in the same order, as a hash join of Polars."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.expansion import expanding_join
from cauce.operators.integer_build import DenseKeys, HashedKeys, IntegerKeys
from cauce.operators.join import Build, LookupJoin, join
from cauce.operators.late import Late

LOW, HIGH = -(2**63), 2**63 - 1


def frame(keys: list[int | None], column: str, dtype: type[pl.DataType] = pl.Int64) -> pl.DataFrame:
    return pl.DataFrame({"k": pl.Series(keys, dtype=dtype), column: range(len(keys))})


def keys(count: int, low: int, high: int, seed: int) -> list[int | None]:
    rng = random.Random(seed)
    return [None if rng.random() < 0.1 else rng.randint(low, high) for _ in range(count)]


SIDES = {
    "few values": (keys(300, 0, 9, 1), keys(60, 3, 12, 2)),
    "unique": (keys(300, 0, 50, 3), [*range(20, 40), None]),
    "negative": (keys(300, -40, 5, 4), keys(90, -20, 9, 5)),
    "no match": (keys(50, 0, 9, 6), keys(50, 100, 109, 7)),
    "at the ends of the range": ([LOW, HIGH, 0, None, LOW + 1], [LOW, LOW + 3, LOW]),
    "at the upper end": ([LOW, HIGH, 0, HIGH - 2], [HIGH, HIGH - 2]),
    "one": ([1, 2, None], [2]),
    "far apart": ([LOW, HIGH, 0, None, 7, LOW], [LOW, HIGH, 5, LOW, None]),
    "far apart, unique": ([LOW, HIGH, 0, None, 7, LOW], [HIGH, 5, LOW]),
}


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("name", SIDES)
def test_join_is_that_of_polars(name: str, how: LookupJoin) -> None:
    left, right = (frame(each, column) for each, column in zip(SIDES[name], ("a", "b"), strict=True))
    kind = HashedKeys if "far apart" in name else DenseKeys
    assert isinstance(IntegerKeys.of(right["k"].drop_nulls()), kind)
    found = join(Late(left), Build(right, ["k"]), how)
    columns = ["a"] if how in ("semi", "anti") else ["a", "b"]
    order = None if how in ("semi", "anti") else "left_right"
    expected = left.join(right, on="k", how=how, maintain_order=order).select(columns)
    assert_frame_equal(found.frame(columns), expected)


@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize("name", SIDES)
def test_join_with_keys_alone_is_that_of_polars(name: str, how: LookupJoin) -> None:
    left, right = (frame(each, column) for each, column in zip(SIDES[name], ("a", "b"), strict=True))
    found = join(Late(left), Build(right.select("k"), ["k"]), how)
    assert_frame_equal(found.frame(["a"]), left.join(right, on="k", how=how).select("a"))


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("name", SIDES)
def test_join_in_slices_is_that_of_polars(name: str, how: LookupJoin) -> None:
    left, right = (frame(each, column) for each, column in zip(SIDES[name], ("a", "b"), strict=True))
    found = expanding_join(Late(left), ["a"], Build(right, ["k"]), how, slice_cells=1)
    expected = left.join(right, on="k", how=how, maintain_order="left_right").select("a", "b")
    assert found is not None or name in ("unique", "one", "at the upper end", "no match", "far apart, unique")
    if found is not None:
        assert_frame_equal(pl.concat([expected.clear(), *(each.frame(["a", "b"]) for each in found)]), expected)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.UInt32])
def test_small_types(dtype: type[pl.DataType]) -> None:
    left, right = frame([5, 100, None, 0], "a", dtype), frame([100, 0, 100], "b", dtype)
    assert join(Late(left), Build(right, ["k"]), "inner").frame(["a", "b"]).rows() == [(1, 0), (1, 2), (3, 1)]


@pytest.mark.parametrize("values", [[0, 10**9], [LOW, HIGH]])
def test_distant_keys_are_hashed(values: list[int]) -> None:
    assert isinstance(IntegerKeys.of(pl.Series(values, dtype=pl.Int64)), HashedKeys)


def test_other_types_are_left_to_polars() -> None:
    assert IntegerKeys.of(pl.Series([], dtype=pl.Int64)) is None
    assert IntegerKeys.of(pl.Series(["a"])) is None
    assert IntegerKeys.of(pl.Series([1.0])) is None
    assert IntegerKeys.of(pl.Series([2**63], dtype=pl.UInt64)) is None


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("spread", [20, 10**6])
@pytest.mark.parametrize("unique", [True, False])
def test_joins_by_two_integers_are_those_of_polars(how: LookupJoin, spread: int, unique: bool) -> None:
    rng = np.random.default_rng(7)
    left, right = (
        pl.DataFrame(
            {
                "a": pl.Series(rng.integers(-spread, spread, rows)).set(pl.Series(rng.random(rows) < 0.1), None),
                "b": pl.Series(rng.integers(0, 7, rows), dtype=pl.Int32),
                name: np.arange(rows),
            }
        )
        for name, rows in (("x", 500), ("y", 300))
    )
    if spread > 20:
        # Some keys of each side are those of the other.
        right = pl.concat([right, left.head(50).select("a", "b", y=pl.col("x") + 1000)])
    right = right.unique(["a", "b"], maintain_order=True) if unique else right
    found = join(Late(left), Build(right, ["a", "b"]), how)
    columns = left.columns if how in ("semi", "anti") else [*left.columns, "y"]
    expected = left.join(right, on=["a", "b"], how=how, maintain_order="left_right")
    assert_frame_equal(found.frame(columns), expected.select(columns))
