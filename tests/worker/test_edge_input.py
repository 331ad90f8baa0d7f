"""Edge input: deduplicated, independent of order, complete when every record has arrived."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cauce.errors import Conflict
from cauce.fabric.contract import Position
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from cauce.job.completion import InOrder
from cauce.job.frames import dump_frame, load_frame
from cauce.job.log_reader import LogReader
from cauce.operators.aggregates import Count, Sum, partial
from cauce.operators.order import desc
from cauce.plan.nodes import Final, Node, Receive, TopK
from cauce.plan.physical import Edge
from cauce.worker.edge_input import Intake

SOURCE: Node = Receive(0, ("k", "v"))
SUMS = {"n": Count(), "s": Sum("v")}
EDGES = {
    "rows": Edge(1, "gather", (), SOURCE),
    "partials": Edge(1, "hash", ("k",), SOURCE, Final(SOURCE, ("k",), SUMS)),
    "tops": Edge(1, "gather", (), SOURCE, TopK(SOURCE, 2, (desc("v"),), (), "cut")),
}
BATCHES = [
    pl.DataFrame({"k": ["a", "b"], "v": [1, 2]}),
    pl.DataFrame({"k": ["b"], "v": [7]}),
    pl.DataFrame({"k": [], "v": []}, schema={"k": pl.String, "v": pl.Int64}),
    pl.DataFrame({"k": ["c", "a"], "v": [7, 5]}),
]


def records_for(kind: str) -> list[Record]:
    """Two producers with two batches each, and their ends."""
    frames = [partial(batch, ("k",), SUMS) for batch in BATCHES] if kind == "partials" else BATCHES
    data = [record(Kind.DATA, number // 2, number % 2, dump_frame(frame)) for number, frame in enumerate(frames)]
    return [*data, record(Kind.END, 0, 2), record(Kind.END, 1, 2)]


def intake_of(kind: str, records: list[Record]) -> Intake:
    intake = Intake(EDGES[kind], "edge 1", [0, 1], LogReader(Log("edge-1")))
    for each in records:
        intake.add([each])
    return intake


def outcome(intake: Intake) -> pl.DataFrame:
    """Merged partials are unordered groups: the final step sorts them."""
    frame = intake.frame()
    return frame.sort("k") if intake.edge.spread == "hash" else frame


@pytest.mark.parametrize("kind", EDGES)
@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 5), max_size=5))
def test_order_and_duplicates_change_nothing(kind: str, rng: random.Random, repeated: list[int]) -> None:
    records = records_for(kind)
    shuffled = records + [records[number] for number in repeated]
    rng.shuffle(shuffled)
    intake = intake_of(kind, shuffled)
    assert intake.complete
    assert_frame_equal(outcome(intake), outcome(intake_of(kind, records)))


def test_rows_are_ordered_by_identity_not_by_arrival() -> None:
    rows = intake_of("rows", records_for("rows")[::-1]).frame()
    assert rows["v"].to_list() == [1, 2, 7, 7, 5]


def test_partials_are_merged() -> None:
    assert outcome(intake_of("partials", records_for("partials"))).rows() == [("a", 2, 6), ("b", 2, 9), ("c", 1, 7)]


def test_top_rows_are_truncated() -> None:
    assert intake_of("tops", records_for("tops")).frame().rows() == [("b", 7), ("c", 7)]


@pytest.mark.parametrize("missing", range(6))
def test_input_that_lacks_one_record_is_not_complete(missing: int) -> None:
    records = records_for("rows")
    del records[missing]
    assert not intake_of("rows", records).complete


def test_a_producer_without_records_is_reported_as_missing() -> None:
    intake = Intake(EDGES["rows"], "edge 1", [0, 1, 2], LogReader(Log("edge-1")))
    intake.add(records_for("rows"))
    assert not intake.complete
    assert "2 (0 of a yet unknown number of records)" in intake.names.missing()


def test_a_duplicate_with_other_content_is_a_conflict() -> None:
    other = record(Kind.DATA, 0, 0, dump_frame(BATCHES[1]))
    with pytest.raises(Conflict, match="0/0 came with two contents"):
        intake_of("rows", [*records_for("rows"), other])


def test_a_second_end_with_another_count_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="producer 0 ended with 2 and with 3"):
        intake_of("rows", [*records_for("rows"), record(Kind.END, 0, 3)])


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("cut", range(7))
def test_it_resumes_from_a_snapshot_taken_anywhere(kind: str, cut: int) -> None:
    records = records_for(kind)
    before = intake_of(kind, records[:cut])
    after = Intake(EDGES[kind], "edge 1", [0, 1], LogReader(Log("edge-1")))
    after.restore(before.dump())
    # The log is replayed from slightly before the snapshot.
    after.add(records[max(cut - 2, 0) :])
    assert after.complete
    assert_frame_equal(outcome(after), outcome(intake_of(kind, records)))


def test_a_snapshot_holds_the_position() -> None:
    intake = Intake(EDGES["rows"], "edge 1", [0, 1], LogReader(Log("edge-1")))
    intake.add(records_for("rows")[:1])
    intake.reader.position = Position({"segment": 17})
    again = Intake(EDGES["rows"], "edge 1", [0, 1], LogReader(Log("edge-1")))
    again.restore(intake.dump())
    assert again.reader.position == Position({"segment": 17})


# In order.


def numbered(number: int) -> pl.DataFrame:
    return pl.DataFrame({"number": [number]})


def released(numbers: list[int]) -> list[list[int]]:
    order = InOrder()
    return [[frame["number"][0] for frame in order.take(number, numbered(number))] for number in numbers]


def test_items_in_order_are_released_at_once() -> None:
    assert released([0, 1, 2]) == [[0], [1], [2]]


def test_an_early_item_waits_for_those_before_it() -> None:
    assert released([2, 1, 0, 3]) == [[], [], [0, 1, 2], [3]]


def test_a_released_item_is_not_released_again() -> None:
    assert released([0, 0, 1, 0, 1]) == [[0], [], [1], [], []]


@given(st.lists(st.integers(0, 12), max_size=40))
def test_items_are_released_once_in_order_and_without_gaps(numbers: list[int]) -> None:
    left = [number for some in released(numbers) for number in some]
    whole = next(number for number in range(14) if number not in numbers)
    assert left == list(range(whole))


@pytest.mark.parametrize("kind", EDGES)
def test_a_diverted_input_passes_every_record_on_as_it_came(kind: str) -> None:
    records = records_for(kind)
    intake = Intake(EDGES[kind], "edge 1", [0, 1], LogReader(Log("edge-1")), fold_bytes=1)
    intake.add(records[:2])
    passed: dict[tuple[int, int], pl.DataFrame] = {}
    intake.divert(lambda name, frame, weight: passed.setdefault(name, frame))  # type: ignore[arg-type,return-value]
    merges = EDGES[kind].merge is not None
    # Merged rows are gone: the log is read again.
    assert bool(passed) != merges
    intake.add(records if merges else records[2:])
    assert intake.complete
    for each in records[:4]:
        assert_frame_equal(passed[each.seq, each.producer], load_frame(each.body))
    assert not intake.held_bytes


def test_a_parked_input_is_only_counted() -> None:
    intake = Intake(EDGES["rows"], "edge 1", [0, 1], LogReader(Log("edge-1")), fold_bytes=1)
    intake.add(records_for("rows")[:1])
    assert intake.held_bytes
    intake.park()
    intake.add(records_for("rows"))
    assert intake.complete
    assert not intake.held_bytes
