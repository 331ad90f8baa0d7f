"""Logs: what was confirmed is read by everybody, from any position, as often as they like."""

from __future__ import annotations

import json

import pytest

from cauce.fabric.contract import Fabric, Position
from cauce.wire.records import Kind, Record, record
from tests.conformance.worlds import World, data, drain, names, read_on


def test_records_come_back_as_they_were(one: Fabric, other: Fabric) -> None:
    said = [
        record(Kind.DATA, 3, 7, b"body"),
        record(Kind.END, 0xFFFF_FFFF, 2**63, b""),
        record(Kind.SNAPSHOT, 0, 0, bytes(range(256)) * 50),
    ]
    one.append("j", "log", said)
    assert drain(other, "j", "log")[0] == said


def test_a_log_without_records_reads_as_empty(one: Fabric) -> None:
    one.append("j", "log", [])
    batch = one.read("j", "log", {}, 100)
    assert list(batch.records) == []
    assert batch.position == {}


def test_one_writer_is_read_in_its_order(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", "log", data(0, seq))
    assert [each.seq for each in drain(other, "j", "log")[0]] == list(range(20))


def test_reading_goes_on_behind_a_position(one: Fabric, other: Fabric) -> None:
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
    position: Position = {}
    found = []
    for seq in range(10):
        for producer, writer in enumerate(writers):
            writer.append("j", "log", data(producer, seq))
        more, position = drain(one, "j", "log", position)
        found += more
    assert names(found) == [(producer, seq) for producer in range(5) for seq in range(10)]


def test_every_new_writer_is_seen_at_once(one: Fabric, world: World) -> None:
    position: Position = {}
    for producer in range(30):
        world.process().append("j", "log", data(producer, 0))
        found, position = drain(one, "j", "log", position)
        assert names(found) == [(producer, 0)]


@pytest.mark.parametrize("limit_bytes", [0, 1, 100, 250, 1000])
def test_a_read_keeps_to_its_limit(one: Fabric, other: Fabric, limit_bytes: int) -> None:
    one.append("j", "log", data(0, *range(10), body=bytes(100)))
    other.append("j", "log", data(1, *range(10), body=bytes(30)))
    one.catch_up("j", "log")
    position: Position = {}
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
    assert len(one.read("j", "log", {}, 1 << 20).records) == 100


def test_old_positions_give_the_same_set_again(one: Fabric, other: Fabric) -> None:
    seen: list[Position] = [{}]
    for seq in range(6):
        (one if seq % 2 else other).append("j", "log", data(seq % 2, seq))
        seen.append(drain(one, "j", "log", seen[-1])[1])
    for count, position in enumerate(seen):
        expected = sorted((seq % 2, seq) for seq in range(count, 6))
        assert names(drain(one, "j", "log", position)[0]) == expected
        assert names(drain(other, "j", "log", position, limit_bytes=1)[0]) == expected


def test_a_read_leaves_the_given_position_alone(one: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    position: Position = {}
    one.read("j", "log", position, 100)
    assert position == {}


def test_positions_survive_json_and_other_processes(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    other.append("j", "log", data(1, 1))
    position = json.loads(json.dumps(drain(one, "j", "log")[1]))
    other.append("j", "log", data(1, 2))
    assert names(drain(other, "j", "log", position)[0]) == [(1, 2)]


def test_what_a_closed_process_has_said_stays(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    one.close()
    assert names(drain(other, "j", "log")[0]) == [(0, 1)]


def test_big_records_go_through_whole(one: Fabric, other: Fabric) -> None:
    big = record(Kind.DATA, 0, 1, bytes(range(256)) * (20 * 4096))
    assert len(big.body) == 20 << 20
    one.append("j", "log", [*data(0, 0), big, *data(0, 2)])
    found, _ = drain(other, "j", "log", limit_bytes=1000)
    assert found == [*data(0, 0), big, *data(0, 2)]


def test_logs_of_a_shelf_are_read_each_by_itself(one: Fabric, other: Fabric) -> None:
    for seq in range(5):
        one.append("j", "shelf.a", data(0, seq))
        other.append("j", "shelf.b", data(1, seq))
        one.append("j", "shelf.a.b", data(2, seq))
    for fabric in (one, other):
        for producer, log in enumerate(("shelf.a", "shelf.b", "shelf.a.b")):
            assert names(drain(fabric, "j", log)[0]) == [(producer, seq) for seq in range(5)]
    assert drain(other, "j", "shelf.c") == ([], {})


def test_several_logs_are_appended_to_at_once(one: Fabric, other: Fabric) -> None:
    one.append_all(
        "j", [("a", data(0, 1)), ("s.b", data(0, 2, 3)), ("a", data(0, 4)), ("s.c", []), ("s.b", data(0, 5))]
    )
    assert [each.seq for each in drain(other, "j", "a")[0]] == [1, 4]
    assert [each.seq for each in drain(other, "j", "s.b")[0]] == [2, 3, 5]
    assert drain(other, "j", "s.c")[0] == []


def test_one_sees_at_once_what_one_has_said_and_all_before_it(one: Fabric, other: Fabric) -> None:
    position: Position = {}
    for seq in range(20):
        other.append("j", "log", data(1, seq))
        one.append("j", "log", data(0, seq))
        found, position = read_on(one, "j", "log", position)
        assert names(found) == [(0, seq), (1, seq)]


def test_catching_up_shows_what_others_have_said(one: Fabric, other: Fabric) -> None:
    for seq in range(20):
        one.append("j", "log", data(0, seq))
        other.catch_up("j", "log")
        assert other.read("j", "log", {}, 1 << 20).records
    other.catch_up("j", "never-written")
    other.catch_up("unknown", "log")
    other.catch_up("j")
    assert other.read("j", "never-written", {}, 100).position == {}


def test_catching_up_with_several_logs_at_once(one: Fabric, other: Fabric) -> None:
    logs = ("shelf.a", "shelf.b", "alone", "shelf.never-written", "never-written")
    for seq in range(20):
        for log in ("alone", "shelf.b", "shelf.a"):
            one.append("j", log, data(0, seq))
        other.catch_up("j", *logs)
        for log in ("shelf.b", "alone", "shelf.a"):
            assert len(read_on(other, "j", log, {})[0]) == seq + 1, log


def test_what_was_read_once_can_be_read_again(one: Fabric, other: Fabric) -> None:
    """From any position that was given out, at once and without catching up."""
    one.append("j", "log", data(0, *range(10)))
    seen: list[Position] = [{}]
    other.catch_up("j", "log")
    while (batch := other.read("j", "log", seen[-1], 1)).position != seen[-1]:
        seen.append(batch.position)
    assert len(seen) == 11
    for seq in (0, 9, 4, 5, 1):
        assert [each.seq for each in other.read("j", "log", seen[seq], 1).records] == [seq]
