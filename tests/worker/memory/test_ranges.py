"""Ranges of a split fold: complete, in the order of the records, and the same whatever the order of arrival."""

from __future__ import annotations

import random
from collections.abc import Iterator

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Count, partial
from cauce.operators.weight import weigh
from cauce.plan.nodes import Final, Node, Receive
from cauce.plan.physical import Edge
from cauce.worker.memory.ranges import EdgeRange, NamedFrame, Splitter, is_one_hash, range_count
from cauce.worker.memory.spill import MemorySpill
from cauce.worker.memory.streams import row_stream, value_stream

SOURCE: Node = Receive(0, ("k", "v"))
ROWS = Edge(1, "hash", ("k",), SOURCE)
COUNTS = Edge(1, "hash", ("k",), SOURCE, Final(SOURCE, ("k", "v"), {"n": Count()}))


def records(keys: int = 50) -> list[NamedFrame]:
    rng = random.Random(3)
    return [
        ((seq, producer), pl.DataFrame({"k": [rng.randrange(keys) for _ in range(40)], "v": range(40)}))
        for producer in (0, 1)
        for seq in range(10)
    ]


def range_of(edge: Edge, given: list[NamedFrame]) -> EdgeRange:
    def read() -> Iterator[NamedFrame]:
        yield from given

    return EdgeRange(edge, read, weight=sum(weigh(frame) for _, frame in given))


def ranges(given: list[NamedFrame], chunk_bytes: int = 2_000) -> list[EdgeRange]:
    return Splitter(MemorySpill(), "r", ("k",), 8, 2, chunk_bytes).split(range_of(ROWS, given))


def frame_of(found: EdgeRange) -> pl.DataFrame:
    collected = found.collect(1 << 30)
    assert collected is not None
    return collected.frame()


def test_every_row_is_in_one_range_with_all_rows_of_its_key() -> None:
    given = records()
    frames = [frame_of(each) for each in ranges(given)]
    everything = pl.concat([frame for _, frame in given])
    assert_frame_equal(pl.concat(frames), everything, check_row_order=False)
    keys = [set(frame["k"]) for frame in frames]
    assert sum(map(len, keys)) == everything["k"].n_unique()
    assert sum(map(bool, keys)) > 4


@pytest.mark.parametrize("chunk_bytes", [1, 3_000, 1 << 20])
def test_a_range_does_not_depend_on_the_order_of_arrival(chunk_bytes: int) -> None:
    given = records()
    shuffled = random.Random(5).sample(given, len(given))
    for one, other in zip(ranges(given), ranges(shuffled, chunk_bytes), strict=True):
        assert_frame_equal(frame_of(one), frame_of(other))
        assert one.weight == other.weight


def test_a_range_is_not_collected_beyond_its_size() -> None:
    assert range_of(ROWS, records()).collect(1_000) is None


def test_one_key_is_recognised() -> None:
    found = ranges(records(keys=1))
    assert sum(not each.is_empty for each in found) == 1
    assert all(is_one_hash([each]) for each in found if not each.is_empty)
    assert not is_one_hash(ranges(records()))


@pytest.mark.parametrize("piece_bytes", [1, 500, 1 << 20])
def test_rows_are_streamed_in_the_order_of_their_records(piece_bytes: int) -> None:
    given = records()
    shuffled = random.Random(5).sample(given, len(given))
    stream = row_stream(MemorySpill(), range_of(ROWS, shuffled), "s", piece_bytes)
    for _ in range(2):
        pieces = list(stream())
        assert_frame_equal(
            pl.concat(pieces), pl.concat([frame for _, frame in sorted(given, key=lambda each: each[0])])
        )
    assert len(pieces) > 1 or piece_bytes > 1_000


def test_groups_of_one_key_are_streamed_by_value() -> None:
    batches = [(name, frame.with_columns(k=pl.lit(1, dtype=pl.Int64))) for name, frame in records()]
    states = [(name, partial(frame, ("k", "v"), {"n": Count()})) for name, frame in batches]
    stream = value_stream(MemorySpill(), range_of(COUNTS, states), "s", 400)
    assert stream is not None
    pieces = list(stream())
    assert len(pieces) > 2
    everything = pl.concat(pieces)
    assert everything.select("k", "v").is_unique().all()
    assert everything["n"].to_list() == [20] * 40


def test_number_of_ranges_follows_the_size() -> None:
    assert range_count(1, 100) == 2
    assert range_count(1_000, 100) == 16
    assert range_count(1 << 50, 100) == 128
