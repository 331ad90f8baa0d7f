"""NaN equals NaN in every join, whether Polars knows that its columns are sorted or not."""

from __future__ import annotations

import math

import polars as pl
import pytest

from cauce.operators.equal_join import equal_join
from cauce.operators.join import Build, join
from cauce.operators.late import Late

NAN = math.nan
Keys = list[float | None]


def frames(
    left: list[float | None], right: list[float | None], *, is_sorted: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    a = pl.DataFrame({"k": left, "n": range(len(left))}, schema={"k": pl.Float64, "n": pl.Int64})
    b = pl.DataFrame({"k": right, "y": range(len(right))}, schema={"k": pl.Float64, "y": pl.Int64})
    return (a.sort("k"), b.sort("k")) if is_sorted else (a, b)


def equal(a: float | None, b: float | None, *, nulls_equal: bool) -> bool:
    if a is None or b is None:
        return nulls_equal and a is b
    return a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize(
    ("left", "right"),
    [([NAN], [NAN]), ([1.0, NAN, 0.0, None, NAN], [NAN, -0.0, None, 2.0, NAN]), ([NAN], [1.0]), ([], [NAN])],
    ids=["single rows", "several rows", "another value", "no rows"],
)
def test_pairs_are_those_of_a_nested_loop(left: Keys, right: Keys, is_sorted: bool, nulls_equal: bool) -> None:
    a, b = frames(left, right, is_sorted=is_sorted)
    expected = {(n, y) for k, n in a.rows() for other, y in b.rows() if equal(k, other, nulls_equal=nulls_equal)}
    joined = join(Late(a), Build(b, ["k"], nulls_equal), "inner").frame(["n", "y"])
    assert set(joined.rows()) == expected
    matched = equal_join(a, b, ["k"], "semi", nulls_equal=nulls_equal)
    assert set(matched["n"]) == {n for n, _ in expected}
    kept = equal_join(a, b, ["k"], "left", nulls_equal=nulls_equal)
    assert {(n, y) for _, n, y in kept.rows() if y is not None} == expected
    assert set(kept["n"]) == set(a["n"])


def test_other_keys_and_columns_stay() -> None:
    a = pl.DataFrame({"t": ["a", "b"], "k": [NAN, NAN], "n": [1, 2]})
    b = pl.DataFrame({"k": [NAN], "t": ["b"], "y": [3]})
    assert equal_join(a, b, ["t", "k"], "left", nulls_equal=False).columns == ["t", "k", "n", "y"]
    assert equal_join(a, b, ["t", "k"], "inner", nulls_equal=False).select("t", "n", "y").rows() == [("b", 2, 3)]
