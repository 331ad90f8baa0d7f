"""The kernels over integers compute what NumPy and Polars compute."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cauce.scan.integers.groups import combined_keys, run_starts, sorted_order, sum_runs
from cauce.scan.integers.key_table import KeyTable
from cauce.scan.integers.scatter import Placement, digest_bytes, mixed, scatter

RNG = np.random.default_rng(1)
VALUES = RNG.integers(-(2**63), 2**63 - 1, 5_000)


def test_the_hash_is_splitmix64() -> None:
    # The first numbers of the generator from the state 0 (Vigna's reference implementation).
    states = np.array([0, 0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A], np.uint64)
    assert [hex(each) for each in mixed(states)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


@pytest.mark.parametrize(("count", "divisor"), [(1, 1), (2, 1), (7, 3), (64, 2), (64, 640)])
def test_placement_is_that_of_division(count: int, divisor: int) -> None:
    hashes = VALUES.view(np.uint64)
    found = Placement.of(hashes, count, divisor)
    expected = hashes // np.uint64(divisor) % np.uint64(count)
    assert (found.numbers == expected).all()
    assert found.counts.tolist() == np.bincount(expected.astype(np.int64), minlength=count).tolist()
    for number in range(count):
        assert found.lows[number] == hashes[expected == number].min()
        assert found.highs[number] == hashes[expected == number].max()


def test_one_hash_is_placed_apart() -> None:
    hashes = np.array([5, 9, 5, 7], np.uint64)
    found = Placement.apart(hashes, 5)
    assert (found.numbers.tolist(), found.counts.tolist()) == ([0, 1, 0, 1], [2, 2])
    assert (found.lows.tolist(), found.highs.tolist()) == ([5, 7], [5, 9])


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.int32, np.uint16, np.int8])
def test_scattered_rows_keep_their_order(dtype: type[np.generic]) -> None:
    placement = Placement.of(VALUES.view(np.uint64), 8)
    values = np.arange(len(VALUES)).astype(dtype)
    order = np.argsort(placement.numbers, kind="stable")
    assert (scatter(values, placement.positions()) == values[order]).all()


def test_a_digest_depends_on_every_word_and_its_place() -> None:
    data = [VALUES[:size].tobytes() for size in range(6)]
    swapped = VALUES[[1, 0, 2, 3, 4]].tobytes()
    assert len({digest_bytes(each) for each in (*data, swapped)}) == 7


@pytest.mark.parametrize("span", [1, 10, 3_000, 10**12])
def test_sums_of_groups_are_those_of_polars(span: int) -> None:
    keys, values = RNG.integers(-span, span, 4_000), RNG.integers(-1000, 1000, 4_000)
    combined = combined_keys([keys])
    assert combined is not None
    ordered, order = sorted_order(*combined)
    starts = run_starts(ordered)
    expected = pl.DataFrame({"k": keys, "v": values}).group_by("k").sum().sort("k")
    assert keys[order[starts]].tolist() == expected["k"].to_list()
    assert sum_runs(values, order, starts).tolist() == expected["v"].to_list()


def test_combined_keys_are_in_the_order_of_all_keys() -> None:
    one, other = RNG.integers(-9, 9, 500), RNG.integers(-(2**40), 2**40, 500)
    combined = combined_keys([one, other])
    assert combined is not None
    assert np.argsort(combined[0], kind="stable").tolist() == np.lexsort((other, one)).tolist()


def test_keys_of_more_than_63_bits_are_not_combined() -> None:
    assert combined_keys([np.array([-(2**63), 2**63 - 1])]) is None
    assert combined_keys([np.array([0, 2**40]), np.array([0, 2**40])]) is None


@pytest.mark.parametrize("seed", [0, 1 << 62])
@pytest.mark.parametrize("span", [1, 50, 2**62])
def test_a_key_table_numbers_keys_by_first_occurrence(span: int, seed: int) -> None:
    keys, probes = RNG.integers(-span, span, 3_000), RNG.integers(-span, span, 3_000)
    table = KeyTable(keys, seed)
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.tolist()))}
    assert table.size == len(numbers)
    assert table.own.tolist() == [numbers[key] for key in keys.tolist()]
    assert table.find(probes).tolist() == [numbers.get(key, table.size) for key in probes.tolist()]
