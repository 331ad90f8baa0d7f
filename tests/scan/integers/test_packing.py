"""Packed rows are the rows that were packed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.scan.integers.packing import is_packed, pack, unpack

COLUMNS = {
    "close numbers": pl.Series([1000, 1001, 1255]),
    "one value": pl.Series([7, 7, 7]),
    "all of 64 bits": pl.Series([-(2**63), 2**63 - 1, 0]),
    "difference of 32 bits": pl.Series([-5, 2**32 - 6, 0]),
    "nulls": pl.Series([None, 5, None], dtype=pl.Int64),
    "only nulls": pl.Series([None, None, None], dtype=pl.Int64),
    "128 bits": pl.Series([-1, 2**63 - 1, 0], dtype=pl.Int128),
    "8 bits": pl.Series([-128, 127, 0], dtype=pl.Int8),
    "unsigned": pl.Series([0, 2**32 - 1, 1], dtype=pl.UInt32),
    "floats": pl.Series([1.5, None, float("inf")]),
    "whole floats": pl.Series([-7.0, None, 2.0**53]),
    "floats beyond integers": pl.Series([1e300, 5.0, 0.0]),
    "negative zeros": pl.Series([0.0, -0.0, 1.0]),
    "not a number": pl.Series([0.0, float("nan"), 1.0]),
    "short floats": pl.Series([1.5, None, 2.0], dtype=pl.Float32),
    "dates": pl.Series([date(1960, 1, 1), None, date(2020, 2, 29)]),
    "times": pl.Series([time(1, 2, 3, 4), time(23), None]),
    "moments": pl.Series([datetime(1960, 1, 1, 0, 0, 0, 1), None, datetime(2020, 1, 1)]),
    "moments in UTC": pl.Series([datetime(2020, 1, 1, tzinfo=UTC)] * 3),
    "lists": pl.Series([[3, 1], [], [2**40]]),
    "lists of dates": pl.Series([[date(2020, 1, 1)], [None], []]),
    "empty lists": pl.Series([[], [], []], dtype=pl.List(pl.Int64)),
    "decimals": pl.Series([Decimal("-1.25"), None, Decimal("90071992547409.93")], dtype=pl.Decimal(38, 2)),
    "short decimals": pl.Series([Decimal("0.5"), Decimal("-0.5"), Decimal(0)], dtype=pl.Decimal(15, 3)),
    "texts": pl.Series(["", "ñandú", None]),
    "long texts": pl.Series(["a" * 300, "€", "a" * 70_000]),
    "texts that are null": pl.Series([None, None, None], dtype=pl.String),
    "spans": pl.Series([timedelta(-1), timedelta(microseconds=1), None]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_every_kind_of_column(name: str, rows: int) -> None:
    frame = COLUMNS[name].alias("c").to_frame().head(rows)
    packed = pack(frame)
    assert packed is not None
    found = unpack(packed.dump())
    assert_frame_equal(found, frame)
    assert str(found.to_dict(as_series=False)) == str(frame.to_dict(as_series=False))


def test_all_columns_together_after_a_slice() -> None:
    frame = pl.DataFrame([column.alias(name) for name, column in COLUMNS.items()]).slice(1, 2)
    packed = pack(frame)
    assert packed is not None
    assert_frame_equal(unpack(packed.dump()), frame)


def test_equal_rows_have_equal_bytes() -> None:
    one = pl.DataFrame({"a": [1, None, 3]})
    other = pl.concat([one.head(1), pl.DataFrame({"a": [9, 3]}).select(pl.col("a").replace(9, None))])
    packed = [pack(each) for each in (one, other)]
    assert packed[0] is not None
    assert packed[0] == packed[1]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([["a"]]),
        pl.Series([True]),
        pl.Series([[1], None]),
        pl.Series([2**64], dtype=pl.Int128),
        pl.Series([Decimal(2**63)], dtype=pl.Decimal(38, 0)),
    ],
)
def test_other_columns_are_not_packed(values: pl.Series) -> None:
    assert pack(values.alias("a").to_frame()) is None
    assert pack(pl.DataFrame()) is None


def test_arrow_is_not_taken_for_packed_rows() -> None:
    packed = pack(pl.DataFrame({"a": [1]}))
    assert packed is not None
    assert is_packed(packed.dump())
    assert not is_packed(b"\xff\xff\xff\xff\x00\x00\x00\x00\x00")


def test_close_numbers_take_one_byte() -> None:
    packed = pack(pl.DataFrame({"a": pl.Series(range(10**9, 10**9 + 256))}))
    assert packed is not None
    assert len(packed.body) == 256


def test_texts_under_a_null_are_not_packed() -> None:
    texts = pl.Series("a", ["one", "two", "three"])
    packed = [
        pack(each.to_frame()) for each in (texts.set(texts == "two", None), pl.Series("a", ["one", None, "three"]))
    ]
    assert packed[0] is not None
    assert packed[0] == packed[1]
