"""Logs: every process can read confirmed records, from any position, any number of times."""

from __future__ import annotations

import json

import pytest

from cauce.fabric.contract import START, Fabric, Position
from cauce.fabric.records import Kind, Record, record
from tests.conformance.worlds import World, data, drain, names, read_on


def test_records_come_back_as_they_were(one: Fabric, other: Fabric) -> None:
    written = [
        record(Kind.DATA, 3, 7, b"body"),
        record(Kind.END, 0xFFFF_FFFF, 2**63, b""),
        record(Kind.SNAPSHOT, 0, 0, bytes(range(256)) * 50),
    ]
    one.append("j", "log", written)
    assert drain(other, "j", "log")[0] == written


def test_a_log_without_records_reads_as_empty(one: Fabric) -> None:
    one.append("j", "log", [])
    batch = one.read("j", "log", START, 100)
    assert list(batch.records) == []
    assert batch.position == START


def test_one_writer_is_read_in_its_order(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", "log", data(0, seq))
    assert [each.seq for each in drain(other, "j", "log")[0]] == list(range(20))


def test_a_read_continues_after_a_position(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1, 2))
    _, position = drain(other, "j", "log")
    assert other.read("j", "log", position, 100).position == position
    one.append("j", "log", data(0, 3))
    assert names(drain(other, "j", "log", position)[0]) == [(0, 3)]


def test_logs_do_not_mix(one: Fabric) -> None:
    one.create_job("i", b"")
    one.append("j", "log", data(0, 1))
    one.append("j", "log-2", data(0, 2))
    one.append("i", "log", data(0, 3))
    assert names(drain(one, "j", "log")[0]) == [(0, 1)]
    assert names(drain(one, "j", "log-2")[0]) == [(0, 2)]
    assert names(drain(one, "i", "log")[0]) == [(0, 3)]


def test_several_writers_lose_nothing(one: Fabric, world: World) -> None:
    writers = [world.process() for _ in range(5)]
    position: Position = START
    found = []
    for seq in range(10):
        for producer, writer in enumerate(writers):
            writer.append("j", "log", data(producer, seq))
        more, position = drain(one, "j", "log", position)
        found += more
    assert names(found) == [(producer, seq) for producer in range(5) for seq in range(10)]


def test_every_new_writer_is_seen_at_once(one: Fabric, world: World) -> None:
    position: Position = START
    for producer in range(30):
        world.process().append("j", "log", data(producer, 0))
        found, position = drain(one, "j", "log", position)
        assert names(found) == [(producer, 0)]


@pytest.mark.parametrize("limit_bytes", [0, 1, 100, 250, 1000])
def test_a_read_keeps_to_its_limit(one: Fabric, other: Fabric, limit_bytes: int) -> None:
    one.append("j", "log", data(0, *range(10), body=bytes(100)))
    other.append("j", "log", data(1, *range(10), body=bytes(30)))
    one.read_barrier("j", "log")
    position: Position = START
    found: list[Record] = []
    while True:
        batch = one.read("j", "log", position, limit_bytes)
        if batch.position == position:
            break
        assert len(batch.records) == 1 or sum(len(each.body) for each in batch.records) <= limit_bytes
        assert batch.records
        found += batch.records
        position = batch.position
    assert names(found) == [(producer, seq) for producer in range(2) for seq in range(10)]


def test_a_limit_with_room_for_many_gives_many(one: Fabric) -> None:
    one.append("j", "log", data(0, *range(100), body=bytes(10)))
    assert len(one.read("j", "log", START, 1 << 20).records) == 100


def test_a_replay_from_an_old_position_returns_the_same_set(one: Fabric, other: Fabric) -> None:
    seen: list[Position] = [START]
    for seq in range(6):
        (one if seq % 2 else other).append("j", "log", data(seq % 2, seq))
        seen.append(drain(one, "j", "log", seen[-1])[1])
    for count, position in enumerate(seen):
        expected = sorted((seq % 2, seq) for seq in range(count, 6))
        assert names(drain(one, "j", "log", position)[0]) == expected
        assert names(drain(other, "j", "log", position, limit_bytes=1)[0]) == expected


def test_positions_cover_and_merge_as_their_readers_have_read(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    early = drain(one, "j", "log")[1]
    other.append("j", "log", data(1, 1))
    late = drain(one, "j", "log", early)[1]
    assert late.covers(early)
    assert early.covers(START)
    assert not early.covers(late)
    assert not START.covers(early)
    assert early.merge(late) == late.merge(early) == late
    assert early.merge(START) == early


def test_a_rewound_position_returns_the_records_of_that_read_again(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    early = drain(one, "j", "log")[1]
    other.append("j", "log", data(1, 1))
    late = drain(one, "j", "log", early)[1]
    one.append("j", "log", data(0, 2))
    latest = drain(one, "j", "log", late)[1]
    assert (1, 1) in names(drain(one, "j", "log", latest.rewind(early, late))[0])
    assert (0, 1) in names(drain(one, "j", "log", latest.rewind(START, early))[0])


def test_positions_survive_json_and_other_processes(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    other.append("j", "log", data(1, 1))
    position = Position.decode(json.loads(json.dumps(drain(one, "j", "log")[1].encode())))
    other.append("j", "log", data(1, 2))
    assert names(drain(other, "j", "log", position)[0]) == [(1, 2)]


def test_records_of_a_closed_process_stay(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    one.close()
    assert names(drain(other, "j", "log")[0]) == [(0, 1)]


def test_big_records_go_through_whole(one: Fabric, other: Fabric) -> None:
    big = record(Kind.DATA, 0, 1, bytes(range(256)) * (20 * 4096))
    assert len(big.body) == 20 << 20
    one.append("j", "log", [*data(0, 0), big, *data(0, 2)])
    found, _ = drain(other, "j", "log", limit_bytes=1000)
    assert found == [*data(0, 0), big, *data(0, 2)]


def test_logs_of_a_group_are_read_separately(one: Fabric, other: Fabric) -> None:
    for seq in range(5):
        one.append("j", "group.a", data(0, seq))
        other.append("j", "group.b", data(1, seq))
        one.append("j", "group.a.b", data(2, seq))
    for fabric in (one, other):
        for producer, log in enumerate(("group.a", "group.b", "group.a.b")):
            assert names(drain(fabric, "j", log)[0]) == [(producer, seq) for seq in range(5)]
    assert drain(other, "j", "group.c") == ([], START)


def test_several_logs_are_appended_to_at_once(one: Fabric, other: Fabric) -> None:
    one.append_all(
        "j", [("a", data(0, 1)), ("s.b", data(0, 2, 3)), ("a", data(0, 4)), ("s.c", []), ("s.b", data(0, 5))]
    )
    assert [each.seq for each in drain(other, "j", "a")[0]] == [1, 4]
    assert [each.seq for each in drain(other, "j", "s.b")[0]] == [2, 3, 5]
    assert drain(other, "j", "s.c")[0] == []


def test_a_process_reads_its_own_appends_and_all_before_them(one: Fabric, other: Fabric) -> None:
    position: Position = START
    for seq in range(20):
        other.append("j", "log", data(1, seq))
        one.append("j", "log", data(0, seq))
        found, position = read_on(one, "j", "log", position)
        assert names(found) == [(0, seq), (1, seq)]


def test_a_read_barrier_shows_appends_of_others(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", "log", data(0, seq))
        other.read_barrier("j", "log")
        assert other.read("j", "log", START, 1 << 20).records
    other.read_barrier("j", "never-written")
    other.read_barrier("unknown", "log")
    other.read_barrier("j")
    assert other.read("j", "never-written", START, 100).position == START


def test_a_read_barrier_covers_several_logs(one: Fabric, other: Fabric) -> None:
    logs = ("group.a", "group.b", "alone", "group.never-written", "never-written")
    for seq in range(20):
        for log in ("alone", "group.b", "group.a"):
            one.append("j", log, data(0, seq))
        other.read_barrier("j", *logs)
        for log in ("group.b", "alone", "group.a"):
            assert len(read_on(other, "j", log, START)[0]) == seq + 1, log


def test_records_can_be_replayed(one: Fabric, other: Fabric) -> None:
    """From any earlier position, without a read barrier."""
    one.append("j", "log", data(0, *range(10)))
    seen: list[Position] = [START]
    other.read_barrier("j", "log")
    while (batch := other.read("j", "log", seen[-1], 1)).position != seen[-1]:
        seen.append(batch.position)
    assert len(seen) == 11
    for seq in (0, 9, 4, 5, 1):
        assert [each.seq for each in other.read("j", "log", seen[seq], 1).records] == [seq]
