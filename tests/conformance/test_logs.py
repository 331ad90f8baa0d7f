"""Logs: every process can read confirmed records, from any position, any number of times."""

from __future__ import annotations

import json

import pytest

from cauce.errors import FabricError
from cauce.fabric.contract import START, Fabric, Position
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from tests.conformance.worlds import World, data, drain, names, read_on


def test_records_come_back_as_they_were(one: Fabric, other: Fabric) -> None:
    written = [
        record(Kind.DATA, 3, 7, b"body"),
        record(Kind.END, 0xFFFF_FFFF, 2**63, b""),
        record(Kind.SNAPSHOT, 0, 0, bytes(range(256)) * 50),
    ]
    one.append("j", Log("log"), written)
    assert drain(other, "j", Log("log"))[0] == written


@pytest.mark.parametrize("size", [0, 1, 100_000, 5 << 20])
def test_a_record_with_a_tail_is_read_as_one_body(one: Fabric, other: Fabric, size: int) -> None:
    tail = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    written = [Record(Kind.DATA, 1, seq, b"body", 5, tail) for seq in range(2)]
    one.append("j", Log("log"), written)
    found = drain(other, "j", Log("log"))[0]
    assert [(each.seq, each.digest, each.body, each.tail) for each in found] == [
        (0, 5, b"body" + tail, b""),
        (1, 5, b"body" + tail, b""),
    ]


def test_a_log_without_records_reads_as_empty(one: Fabric) -> None:
    one.append("j", Log("log"), [])
    batch = one.read("j", Log("log"), START, 100)
    assert list(batch.records) == []
    assert batch.position == START


def test_one_writer_is_read_in_its_order(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", Log("log"), data(0, seq))
    assert [each.seq for each in drain(other, "j", Log("log"))[0]] == list(range(20))


def test_a_read_continues_after_a_position(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1, 2))
    _, position = drain(other, "j", Log("log"))
    assert other.read("j", Log("log"), position, 100).position == position
    one.append("j", Log("log"), data(0, 3))
    assert names(drain(other, "j", Log("log"), position)[0]) == [(0, 3)]


def test_logs_do_not_mix(one: Fabric) -> None:
    one.create_job("i", b"")
    one.append("j", Log("log"), data(0, 1))
    one.append("j", Log("log-2"), data(0, 2))
    one.append("i", Log("log"), data(0, 3))
    assert names(drain(one, "j", Log("log"))[0]) == [(0, 1)]
    assert names(drain(one, "j", Log("log-2"))[0]) == [(0, 2)]
    assert names(drain(one, "i", Log("log"))[0]) == [(0, 3)]


def test_logs_of_two_groups_with_the_same_name_do_not_mix(one: Fabric, other: Fabric) -> None:
    logs = [Log("a", "log"), Log("b", "log"), Log("log"), Log("log", "log")]
    for seq, log in enumerate(logs):
        one.append("j", log, data(0, seq))
    assert [names(drain(other, "j", log)[0]) for log in logs] == [[(0, seq)] for seq in range(4)]


def test_trimming_keeps_one_log_of_a_group(one: Fabric, other: Fabric) -> None:
    kept, removed = Log("group", "kept"), [Log("group", "gone"), Log("group"), Log("kept"), Log("other", "kept")]
    for log in (kept, *removed):
        one.append("j", log, data(0, 1))
    one.trim("j", [kept])
    for log in removed:
        other.append("j", log, data(0, 2))
        assert drain(other, "j", log)[0] == []
    assert names(drain(other, "j", kept)[0]) == [(0, 1)]


@pytest.mark.parametrize(("group", "name"), [("", ""), ("", "log"), ("a.b", "log"), ("a/b", ""), ("a", "../b")])
def test_a_log_has_a_valid_group_and_name(group: str, name: str) -> None:
    with pytest.raises(FabricError, match="invalid name of a log"):
        Log(group, name)


@pytest.mark.parametrize("log", [Log("a"), Log("a", "b"), Log("a", "b.c"), Log("edges0", "edge-0-1")])
def test_the_stored_form_of_a_log_is_decoded_as_it_was(log: Log) -> None:
    assert Log.decode(log.encode()) == log


def test_several_writers_lose_nothing(one: Fabric, world: World) -> None:
    writers = [world.process() for _ in range(5)]
    position: Position = START
    found = []
    for seq in range(10):
        for producer, writer in enumerate(writers):
            writer.append("j", Log("log"), data(producer, seq))
        more, position = drain(one, "j", Log("log"), position)
        found += more
    assert names(found) == [(producer, seq) for producer in range(5) for seq in range(10)]


def test_every_new_writer_is_seen_at_once(one: Fabric, world: World) -> None:
    position: Position = START
    for producer in range(30):
        world.process().append("j", Log("log"), data(producer, 0))
        found, position = drain(one, "j", Log("log"), position)
        assert names(found) == [(producer, 0)]


@pytest.mark.parametrize("limit_bytes", [0, 1, 100, 250, 1000])
def test_a_read_keeps_to_its_limit(one: Fabric, other: Fabric, limit_bytes: int) -> None:
    one.append("j", Log("log"), data(0, *range(10), body=bytes(100)))
    other.append("j", Log("log"), data(1, *range(10), body=bytes(30)))
    one.read_barrier("j", Log("log"))
    position: Position = START
    found: list[Record] = []
    while True:
        batch = one.read("j", Log("log"), position, limit_bytes)
        if batch.position == position:
            break
        assert len(batch.records) == 1 or sum(len(each.body) for each in batch.records) <= limit_bytes
        assert batch.records
        found += batch.records
        position = batch.position
    assert names(found) == [(producer, seq) for producer in range(2) for seq in range(10)]


def test_a_limit_with_room_for_many_gives_many(one: Fabric) -> None:
    one.append("j", Log("log"), data(0, *range(100), body=bytes(10)))
    assert len(one.read("j", Log("log"), START, 1 << 20).records) == 100


def test_a_replay_from_an_old_position_returns_the_same_set(one: Fabric, other: Fabric) -> None:
    seen: list[Position] = [START]
    for seq in range(6):
        (one if seq % 2 else other).append("j", Log("log"), data(seq % 2, seq))
        seen.append(drain(one, "j", Log("log"), seen[-1])[1])
    for count, position in enumerate(seen):
        expected = sorted((seq % 2, seq) for seq in range(count, 6))
        assert names(drain(one, "j", Log("log"), position)[0]) == expected
        assert names(drain(other, "j", Log("log"), position, limit_bytes=1)[0]) == expected


def test_positions_cover_and_merge_as_their_readers_have_read(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1))
    early = drain(one, "j", Log("log"))[1]
    other.append("j", Log("log"), data(1, 1))
    late = drain(one, "j", Log("log"), early)[1]
    assert late.covers(early)
    assert early.covers(START)
    assert not early.covers(late)
    assert not START.covers(early)
    assert early.merge(late) == late.merge(early) == late
    assert early.merge(START) == early


def test_a_rewound_position_returns_the_records_of_that_read_again(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1))
    early = drain(one, "j", Log("log"))[1]
    other.append("j", Log("log"), data(1, 1))
    late = drain(one, "j", Log("log"), early)[1]
    one.append("j", Log("log"), data(0, 2))
    latest = drain(one, "j", Log("log"), late)[1]
    assert (1, 1) in names(drain(one, "j", Log("log"), latest.rewind(early, late))[0])
    assert (0, 1) in names(drain(one, "j", Log("log"), latest.rewind(START, early))[0])


def test_positions_survive_json_and_other_processes(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1))
    other.append("j", Log("log"), data(1, 1))
    position = Position.decode(json.loads(json.dumps(drain(one, "j", Log("log"))[1].encode())))
    other.append("j", Log("log"), data(1, 2))
    assert names(drain(other, "j", Log("log"), position)[0]) == [(1, 2)]


def test_records_of_a_closed_process_stay(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1))
    one.close()
    assert names(drain(other, "j", Log("log"))[0]) == [(0, 1)]


def test_big_records_go_through_whole(one: Fabric, other: Fabric) -> None:
    big = record(Kind.DATA, 0, 1, bytes(range(256)) * (20 * 4096))
    assert len(big.body) == 20 << 20
    one.append("j", Log("log"), [*data(0, 0), big, *data(0, 2)])
    found, _ = drain(other, "j", Log("log"), limit_bytes=1000)
    assert found == [*data(0, 0), big, *data(0, 2)]


def test_logs_of_a_group_are_read_separately(one: Fabric, other: Fabric) -> None:
    for seq in range(5):
        one.append("j", Log("group", "a"), data(0, seq))
        other.append("j", Log("group", "b"), data(1, seq))
        one.append("j", Log("group", "a.b"), data(2, seq))
    for fabric in (one, other):
        for producer, log in enumerate((Log("group", "a"), Log("group", "b"), Log("group", "a.b"))):
            assert names(drain(fabric, "j", log)[0]) == [(producer, seq) for seq in range(5)]
    assert drain(other, "j", Log("group", "c")) == ([], START)


def test_several_logs_are_appended_to_at_once(one: Fabric, other: Fabric) -> None:
    one.append_all(
        "j",
        [
            (Log("a"), data(0, 1)),
            (Log("s", "b"), data(0, 2, 3)),
            (Log("a"), data(0, 4)),
            (Log("s", "c"), []),
            (Log("s", "b"), data(0, 5)),
        ],
    )
    assert [each.seq for each in drain(other, "j", Log("a"))[0]] == [1, 4]
    assert [each.seq for each in drain(other, "j", Log("s", "b"))[0]] == [2, 3, 5]
    assert drain(other, "j", Log("s", "c"))[0] == []


def test_a_process_reads_its_own_appends_and_all_before_them(one: Fabric, other: Fabric) -> None:
    position: Position = START
    for seq in range(20):
        other.append("j", Log("log"), data(1, seq))
        one.append("j", Log("log"), data(0, seq))
        found, position = read_on(one, "j", Log("log"), position)
        assert names(found) == [(0, seq), (1, seq)]


def test_a_read_barrier_shows_appends_of_others(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", Log("log"), data(0, seq))
        other.read_barrier("j", Log("log"))
        assert other.read("j", Log("log"), START, 1 << 20).records
    other.read_barrier("j", Log("never-written"))
    other.read_barrier("unknown", Log("log"))
    other.read_barrier("j")
    assert other.read("j", Log("never-written"), START, 100).position == START


def test_a_read_barrier_covers_several_logs(one: Fabric, other: Fabric) -> None:
    a, b, alone = Log("group", "a"), Log("group", "b"), Log("alone")
    logs = (a, b, alone, Log("group", "never-written"), Log("never-written"))
    for seq in range(20):
        for log in (alone, b, a):
            one.append("j", log, data(0, seq))
        other.read_barrier("j", *logs)
        for log in (b, alone, a):
            assert len(read_on(other, "j", log, START)[0]) == seq + 1, log


def test_records_can_be_replayed(one: Fabric, other: Fabric) -> None:
    """From any earlier position, without a read barrier."""
    one.append("j", Log("log"), data(0, *range(10)))
    seen: list[Position] = [START]
    other.read_barrier("j", Log("log"))
    while (batch := other.read("j", Log("log"), seen[-1], 1)).position != seen[-1]:
        seen.append(batch.position)
    assert len(seen) == 11
    for seq in (0, 9, 4, 5, 1):
        assert [each.seq for each in other.read("j", Log("log"), seen[seq], 1).records] == [seq]
