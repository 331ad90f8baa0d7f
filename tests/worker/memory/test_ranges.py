"""Ranges of a split fold: complete, in the order of the records, and the same whatever the order of arrival."""

from __future__ import annotations

import random
from collections.abc import Iterator

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Count, partial
from cauce.operators.partition import key_hashes
from cauce.operators.weight import weigh
from cauce.plan.nodes import Final, Node, Receive
from cauce.plan.physical import Edge
from cauce.worker.memory.ranges import (
    EdgeRange,
    NamedFrame,
    grouped,
    hot_hash,
    is_one_hash,
    range_count,
)
from cauce.worker.memory.spill import MemorySpill
from cauce.worker.memory.splitting import Apart, ByHash, EdgeSplitter, InputSplitter, Rule
from cauce.worker.memory.streams import row_stream, value_stream

SOURCE: Node = Receive(0, ("k", "v"))
ROWS = Edge(1, "hash", ("k",), SOURCE)
BY_HASH = ByHash(8, 2)
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


def ranges(given: list[NamedFrame], chunk_bytes: int = 2_000, rule: Rule = BY_HASH) -> list[EdgeRange]:
    splitter = EdgeSplitter(MemorySpill(), "r", ROWS, ("k",), rule, chunk_bytes)
    splitter.add_all(range_of(ROWS, given))
    return splitter.ranges()


def frame_of(found: EdgeRange) -> pl.DataFrame:
    collected = found.collect(1 << 30)
    assert collected is not None
    assert_frame_equal(collected.frame(), found.frame())
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
    assert range_count(100, 1) == 2
    assert range_count(100, 500) == 8
    assert range_count(100, 1 << 50) == range_count(100) == 8
    assert range_count(1 << 20, 1 << 25) == 32
    assert range_count(1 << 24, 1 << 50) == range_count(1 << 24) == 64


@pytest.mark.parametrize("fold_bytes", [1, 2_000, 4_000, 1 << 20])
def test_neighbours_are_combined_up_to_the_size_of_a_fold(fold_bytes: int) -> None:
    found = [[each] for each in ranges(records())]
    groups = list(grouped(found, fold_bytes))
    assert [number for numbers, _ in groups for number in numbers] == list(range(8))
    for numbers, (group,) in groups:
        assert len(numbers) == 1 or (group.weight or 0) <= fold_bytes
        assert group.weight == sum(found[number][0].weight or 0 for number in numbers)
        rows = pl.concat([found[number][0].frame() for number in numbers])
        assert_frame_equal(group.frame(), rows, check_row_order=False)
    for numbers, _ in groups:
        later = [each for each, _ in groups if each.start >= numbers.start]
        assert [each for each, _ in grouped(found, fold_bytes, numbers.start)] == later


def test_combined_ranges_do_not_depend_on_the_order_of_arrival() -> None:
    given = records()
    shuffled = random.Random(5).sample(given, len(given))
    one, other = ([[each] for each in ranges(rows)] for rows in (given, shuffled))
    for (_, (left,)), (_, (right,)) in zip(grouped(one, 4_000), grouped(other, 4_000), strict=True):
        assert_frame_equal(left.frame(), right.frame())


def with_hot_key(share: float) -> list[NamedFrame]:
    """Records of which the last ones have the hot key 7, others keys that occur once or twice."""
    count = round(800 * share)
    keys = [*range(1_000, 1_000 + (800 - count) // 2), *range(1_000, 1_000 + (800 - count + 1) // 2), *[7] * count]
    return [((seq, 0), pl.DataFrame({"k": keys[seq * 40 : seq * 40 + 40], "v": range(40)})) for seq in range(20)]


@pytest.mark.parametrize(("share", "is_hot"), [(1.0, True), (0.76, True), (0.75, False), (0.4, False), (0.0, False)])
def test_a_hash_of_more_than_three_quarters_of_the_rows_is_hot(share: float, is_hot: bool) -> None:
    hot = int(key_hashes(pl.DataFrame({"k": [7]}), ["k"]).item())
    given = with_hot_key(share)
    for order in (given, given[::-1], random.Random(1).sample(given, len(given))):
        assert hot_hash([range_of(ROWS, order)]) == (hot if is_hot else None)


def test_rows_of_a_hot_hash_are_set_apart() -> None:
    hot = hot_hash([range_of(ROWS, with_hot_key(0.9))])
    assert hot is not None
    same, others = ranges(with_hot_key(0.9), rule=Apart(hot))
    assert set(same.frame()["k"]) == {7}
    assert is_one_hash([same])
    assert 7 not in set(others.frame()["k"])
    assert same.frame().height + others.frame().height == 800


def test_an_edge_without_rows_has_empty_ranges() -> None:
    splitter = InputSplitter(MemorySpill(), "r", [ROWS], ByHash(4, 2), 100)
    splitter.sink(ROWS)((0, 0), pl.DataFrame(schema={"k": pl.Int64, "v": pl.Int64}), 0)
    found = splitter.ranges()
    assert all(each.is_empty for (each,) in found)
    assert found[0][0].frame().columns == ["k", "v"]


@pytest.mark.parametrize("keys", [1, 1_000_000])
def test_repeated_groups_are_merged_before_they_are_written(keys: int) -> None:
    """Their weight is that of all rows nevertheless."""
    states = [(name, partial(frame, ("k", "v"), {"n": Count()})) for name, frame in records(keys)]
    spill = MemorySpill()
    splitter = EdgeSplitter(spill, "r", COUNTS, ("k",), BY_HASH, 1 << 20)
    splitter.add_all(range_of(COUNTS, states))
    found = splitter.ranges()
    written = sum(frame.height for each in found for _, frame in each.read())
    assert written == (40 if keys == 1 else 800)
    assert sum(each.weight or 0 for each in found) == sum(weigh(frame) for _, frame in states)
    assert sum(each.frame()["n"].sum() for each in found) == 800
