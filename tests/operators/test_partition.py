"""Partitions by key: the same hash in every process, machine and version."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from cauce.operators.partition import partition_numbers, split

MANY = 2**32
"""So many partitions that the partition number reveals the hash."""

TEXTS = [
    (pl.Series("k", ["Emma"]), "Emma", 3_598_123_200),
    (pl.Series("k", ["Ñandú 😀"]), "Ñandú 😀", 828_155_569),
    (pl.Series("k", [""]), "", 953_390_274),
    (pl.Series("k", [Decimal("7.50")], dtype=pl.Decimal(38, 18)), "7.5", 1_005_335_293),
    (pl.Series("k", [True]), "true", 1_963_685_417),
    (pl.Series("k", [0.5]), str(struct.unpack("<q", struct.pack("<d", 0.5))[0]), 3_593_841_746),
    (pl.Series("k", [2**63], dtype=pl.Int128), str(2**63), 2_855_020_684),
]

INTEGERS = [
    (pl.Series("k", [17]), 17, 786_658_147),
    (pl.Series("k", [17], dtype=pl.Int32), 17, 786_658_147),
    (pl.Series("k", [17], dtype=pl.UInt64), 17, 786_658_147),
    (pl.Series("k", [17], dtype=pl.Int128), 17, 786_658_147),
    (pl.Series("k", [-(2**63)]), -(2**63), 313_127_899),
    (pl.Series("k", [dt.date(2024, 2, 29)]), 19782, 636_938_509),
    (pl.Series("k", [dt.datetime(2024, 2, 29)], dtype=pl.Datetime("us")), 1709164800000000, 1_090_413_362),
]


def splitmix(number: int) -> int:
    mask = 2**64 - 1
    state = (number + 0x9E3779B97F4A7C15) & mask
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
    state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
    return state ^ state >> 31


def test_the_reference_is_splitmix64() -> None:
    # The first outputs of the published generator with the seed 1234567.
    assert splitmix(1234567) == 6457827717110365317
    assert splitmix(1234567 + 0x9E3779B97F4A7C15) == 3203168211198807973


@pytest.mark.parametrize(("key", "text", "expected"), TEXTS, ids=[text for _, text, _ in TEXTS])
def test_the_hash_of_a_text_is_stable(key: pl.Series, text: str, expected: int) -> None:
    assert xxh3_64_intdigest(text.encode()) % MANY == expected
    assert partition_numbers(key.to_frame(), ["k"], MANY).to_list() == [expected]


@pytest.mark.parametrize(("key", "number", "expected"), INTEGERS, ids=[str(key.dtype) for key, _, _ in INTEGERS])
def test_the_hash_of_an_integer_is_stable(key: pl.Series, number: int, expected: int) -> None:
    assert splitmix(number % 2**64) % MANY == expected
    assert partition_numbers(key.to_frame(), ["k"], MANY).to_list() == [expected]


def test_the_hash_of_two_columns_mixes_theirs() -> None:
    frame = pl.DataFrame({"a": ["EZE"], "b": [3]})
    expected = splitmix((xxh3_64_intdigest(b"EZE") + splitmix(3)) % 2**64) % MANY
    assert partition_numbers(frame, ["a", "b"], MANY).to_list() == [expected]


def test_every_row_of_a_large_column_is_hashed() -> None:
    numbers = partition_numbers(pl.DataFrame({"k": range(100_000)}), ["k"], MANY)
    assert numbers.to_list() == [splitmix(number) % MANY for number in range(100_000)]


def test_equal_decimals_of_different_scale_share_a_partition() -> None:
    numbers = {
        partition_numbers(pl.DataFrame({"k": pl.Series([Decimal("7.5")], dtype=pl.Decimal(38, scale))}), ["k"], MANY)[0]
        for scale in (1, 2, 18)
    }
    assert len(numbers) == 1


@pytest.mark.parametrize("pair", [(0.0, -0.0), (math.nan, -math.nan)])
def test_equal_floats_share_a_partition(pair: tuple[float, float]) -> None:
    assert partition_numbers(pl.DataFrame({"k": pair}), ["k"], MANY).n_unique() == 1


def test_a_null_key_is_in_the_first_partition() -> None:
    assert partition_numbers(pl.DataFrame({"a": [None, "x", None]}), ["a"], 7).to_list()[::2] == [0, 0]


def test_rows_with_a_null_in_one_of_two_keys_are_spread_by_the_other() -> None:
    frame = pl.DataFrame({"a": [None] * 20, "b": range(20)}, schema={"a": pl.String, "b": pl.Int64})
    numbers = partition_numbers(frame, ["a", "b"], 7).to_list()
    assert len(set(numbers)) > 3
    alone = [partition_numbers(frame[row], ["a", "b"], 7).item() for row in range(20)]
    assert numbers == alone


@settings(max_examples=40)
@given(st.lists(st.none() | st.text(max_size=3), max_size=30), st.integers(1, 9))
def test_split_keeps_order_and_loses_nothing(keys: list[str | None], partitions: int) -> None:
    frame = pl.DataFrame({"k": keys, "row": range(len(keys))}, schema={"k": pl.String, "row": pl.Int64})
    parts = split(frame, ["k"], partitions)
    assert len(parts) == partitions
    rows = [part["row"].to_list() for part in parts]
    assert all(some == sorted(some) for some in rows)
    assert sorted(row for some in rows for row in some) == list(range(len(keys)))


@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(2, 9))
def test_equal_keys_share_a_partition(keys: list[int], partitions: int) -> None:
    parts = split(pl.DataFrame({"k": keys}), ["k"], partitions)
    places = [set(part["k"]) for part in parts]
    assert sum(len(place) for place in places) == len(set(keys))


def test_every_partition_of_no_rows_has_the_columns() -> None:
    parts = split(pl.DataFrame(schema={"k": pl.String}), ["k"], 3)
    assert [part.schema for part in parts] == [{"k": pl.String}] * 3


def test_many_keys_spread_over_all_partitions() -> None:
    sizes = [part.height for part in split(pl.DataFrame({"k": range(10_000)}), ["k"], 8)]
    assert min(sizes) > 1000
