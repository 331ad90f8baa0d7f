"""States that kernels add have the same values, types and order as those of Polars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Aggregate, Count, Max, Mean, NullableSum, Sum, partial
from cauce.operators.aggregates import group_by as grouping
from cauce.operators.aggregates.base import Batch
from cauce.operators.aggregates.row_sums import row_sums

ROWS = 3000
KEYS = ("letter", "word", "long", "near", "far", "day")
RNG = np.random.default_rng(11)
SUMS: dict[str, Aggregate] = {
    "n": Count(),
    "c": Count("i"),
    "s": Sum("i"),
    "m": Mean("d"),
    "t": NullableSum("d"),
    "k": Sum("short"),
    "filled": Count("some"),
    "a": Mean("some"),
    "e": Sum("exact"),
    "f": Mean("some exact"),
}


def frame() -> pl.DataFrame:
    start = date(1992, 1, 1)
    return pl.DataFrame(
        {
            "letter": pl.Series(RNG.choice(["A", "N", "R", ""], ROWS)),
            "word": pl.Series(RNG.choice(["AIR", "MAIL", "a", "ab", "é"], ROWS)),
            "long": pl.Series(RNG.choice(["DELIVER IN PERSON", "NONE"], ROWS)),
            "near": pl.Series(RNG.integers(-5, 700, ROWS)),
            "far": pl.Series(RNG.choice([-(2**62), 0, 2**62, 12345678901234], ROWS)),
            "day": pl.Series([start + timedelta(int(days)) for days in RNG.integers(0, 40, ROWS)]),
            "i": pl.Series(RNG.integers(-(10**6), 10**6, ROWS)),
            "short": pl.Series(RNG.integers(-100, 100, ROWS), dtype=pl.Int8),
            "some": pl.Series(RNG.integers(-(10**6), 10**6, ROWS)).set(pl.Series(RNG.random(ROWS) < 0.1), None),
            "exact": pl.Series(RNG.integers(-(10**9), 10**9, ROWS)).cast(pl.Decimal(38, 18)),
            "d": pl.Series(RNG.integers(-(10**6), 10**6, ROWS)).cast(pl.Decimal(20, 0)).cast(pl.Decimal(20, 2)),
        }
    ).with_columns(pl.when(pl.col("i") > 0).then("exact").alias("some exact"))


def by_polars(
    rows: pl.DataFrame, keys: Sequence[str], names: dict[str, Aggregate], monkeypatch: pytest.MonkeyPatch
) -> pl.DataFrame:
    with monkeypatch.context() as patched:
        patched.setattr(grouping, "row_sums", lambda batch, aggregates: None)
        return partial(rows, keys, names, nulls=True)


@pytest.mark.parametrize(
    "keys",
    [
        ["letter"],
        ["word"],
        ["long"],
        ["near"],
        ["far"],
        ["day"],
        ["letter", "word"],
        ["near", "day"],
        ["far", "letter", "short"],
    ],
)
def test_states_are_those_of_polars(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = frame()
    made = row_sums(Batch(rows, keys), SUMS)
    assert made is not None
    assert_frame_equal(partial(rows, keys, SUMS, nulls=True), by_polars(rows, keys, SUMS, monkeypatch))


def test_all_rows_as_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = frame().with_columns(pl.lit(0, dtype=pl.Int8).alias(grouping.ALL))
    assert_frame_equal(partial(rows, (), SUMS), by_polars(rows, (), SUMS, monkeypatch))


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["near"], {"h": Max("i")}),
        (["near"], {"s": Sum("wide")}),
        (["near"], {"s": Sum("huge")}),
        (["some"], SUMS),
    ],
    ids=["no sum", "128 bits", "sums of 128 bits", "null keys"],
)
def test_other_groups_are_left_to_polars(keys: list[str], names: dict[str, Aggregate]) -> None:
    rows = frame().with_columns(
        pl.col("i").cast(pl.Int128).alias("wide"),
        (pl.col("i") * 2**40).alias("huge"),
    )
    assert row_sums(Batch(rows, keys), names) is None
    assert partial(rows, keys, names, nulls=True).height == rows.select(keys).n_unique()


def test_texts_with_equal_hashes_are_left_to_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cauce.operators.aggregates.row_sums.text_hashes", lambda texts: np.zeros(len(texts), np.uint64)
    )
    assert row_sums(Batch(frame(), ["long"]), {"n": Count()}) is None


def test_rows_are_grouped_by_the_known_numbers_of_keys() -> None:
    words = ["some long title", "another long title", "a third long title"]
    texts = [words[number] for number in RNG.integers(0, 3, 50)]
    days = RNG.integers(0, 2, 50)
    rows = pl.DataFrame({"text": texts, "day": days})
    numbers = np.array([7 * words.index(text) for text in texts], np.int64)
    states = partial(rows, ["text", "day"], {"n": Count()}, numbers=[numbers, None])
    pairs = list(zip(texts, days.tolist(), strict=True))
    assert states.rows() == [(*pair, pairs.count(pair)) for pair in dict.fromkeys(pairs)]


def test_known_numbers_are_not_those_of_rows_without_null_keys() -> None:
    rows = pl.DataFrame({"text": ["a", "b", "a"], "day": [1, None, 1]})
    numbers = np.array([0, 1, 0], np.int64)
    assert partial(rows, ["text", "day"], {"n": Count()}, numbers=[numbers, None]).rows() == [("a", 1, 2)]
