"""External sort: the same order as a sort in memory, however small the memory is."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.order import Ratio, SortKey, sort_rows
from cauce.worker.memory.external_sort import ExternalSort
from cauce.worker.memory.spill import MemorySpill

ORDERS = {
    "all columns": (),
    "descending, nulls first": (SortKey("a", True, True), SortKey("t")),
    "ratio": (SortKey(Ratio("a", "b")),),
}


def rows(count: int, values: int, seed: int = 0) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "a": [rng.choice([None, *range(values)]) for _ in range(count)],
            "b": [rng.randrange(1, 4) for _ in range(count)],
            "t": [f"text {rng.randrange(values)}" for _ in range(count)],
        }
    )


@pytest.mark.parametrize("by", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(("count", "values"), [(2_000, 1_000), (2_000, 2), (3, 3)])
def test_order_is_that_of_a_sort_in_memory(by: tuple[SortKey, ...], count: int, values: int) -> None:
    given = rows(count, values)
    sorter = ExternalSort(MemorySpill(), "s", by, 3_000)
    for start in range(0, count, 70):
        sorter.add(given.slice(start, 70))
    assert_frame_equal(pl.concat(list(sorter.sorted())), sort_rows(given, by))


def test_equal_rows_are_not_loaded_at_once() -> None:
    sorter = ExternalSort(MemorySpill(), "s", (), 3_000)
    for _ in range(300):
        sorter.add(pl.DataFrame({"a": [7] * 100}))
    pieces = list(sorter.sorted())
    assert sum(piece.height for piece in pieces) == 30_000
    assert max(piece.height for piece in pieces) < 3_000


@pytest.mark.parametrize(("count", "values"), [(2_000, 1_000), (2_000, 2), (3, 3)])
@pytest.mark.parametrize("ranks", [(0,), (1, 2), (1_999,), (700, 1_500)])
def test_rows_of_some_ranks_are_found(count: int, values: int, ranks: tuple[int, ...]) -> None:
    given, wanted = rows(count, values), [rank % count for rank in ranks]
    sorter = ExternalSort(MemorySpill(), "s", (SortKey("a"),), 3_000)
    for start in range(0, count, 70):
        sorter.add(given.slice(start, 70))
    everything = sort_rows(given, (SortKey("a"),))
    found = set()
    for first, piece in sorter.around(wanted):
        assert_frame_equal(piece, everything.slice(first, piece.height))
        found |= {rank for rank in wanted if first <= rank < first + piece.height}
    assert found == set(wanted)


def test_few_rows_are_read_for_a_rank() -> None:
    given = rows(20_000, 10_000)
    sorter = ExternalSort(MemorySpill(), "s", (), 30_000)
    for start in range(0, given.height, 70):
        sorter.add(given.slice(start, 70))
    assert sum(piece.height for _, piece in sorter.around([10_000])) < 5_000
