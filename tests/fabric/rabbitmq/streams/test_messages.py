"""Encoding of records as messages: batches, chunks, assembly, damage."""

from __future__ import annotations

import pytest

from cauce.errors import CorruptRecord
from cauce.fabric.rabbitmq.streams.messages import (
    BATCH_BYTES,
    CHUNK_BYTES,
    MOST_IN_A_BATCH,
    PATIENCE,
    Assembly,
    decode,
    encode,
    encode_note,
)
from cauce.fabric.records import Kind, Record, record

ONE, OTHER = b"1" * 16, b"2" * 16


def of_size(seq: int, size: int) -> Record:
    return record(Kind.DATA, 0, seq, bytes([seq % 256]) * size)


def put_together(bodies: list[bytes], assembly: Assembly | None = None) -> list[Record]:
    assembly = assembly or Assembly(PATIENCE)
    found: list[Record] = []
    for offset, body in enumerate(bodies):
        message = decode(body, "here")
        found += message.records
        if message.chunk is not None:
            made = assembly.add(message.author, message.chunk, offset, "here")
            found += [] if made is None else [made]
    return found


@pytest.mark.parametrize(
    ("sizes", "messages"),
    [
        ([], 0),
        ([0], 1),
        ([10] * 100, 1),
        ([10] * (MOST_IN_A_BATCH + 1), 2),
        ([BATCH_BYTES // 2] * 4, 4),
        ([BATCH_BYTES * 2, 10, 10], 2),
        ([10, CHUNK_BYTES, 10], 4),
        ([CHUNK_BYTES * 3], 4),
        ([(4 << 20) + 1000], 2),
        ([(8 << 20) + 1000], 4),
        ([CHUNK_BYTES - 24], 1),
    ],
)
def test_records_survive_in_as_few_messages_as_fit(sizes: list[int], messages: int) -> None:
    records = [of_size(seq, size) for seq, size in enumerate(sizes)]
    bodies = encode(ONE, 7, "group.log", records)
    assert len(bodies) == messages
    assert put_together(bodies) == records
    decoded = [decode(body, "here") for body in bodies]
    assert [each.seq for each in decoded] == list(range(7, 7 + messages))
    assert {(each.author, each.log) for each in decoded} <= {(ONE, "group.log")}
    assert all(len(body) < CHUNK_BYTES + 1000 for body in bodies)


def test_a_note_has_no_records() -> None:
    message = decode(encode_note(ONE, 3, b"note"), "here")
    assert (message.author, message.seq, message.note, message.log) == (ONE, 3, b"note", "")
    assert not message.records
    assert message.chunk is None


def test_any_flipped_bit_is_detected() -> None:
    (body,) = encode(ONE, 0, "log", [of_size(1, 10), of_size(2, 3)])
    for at in range(len(body)):
        for bit in range(8):
            damaged = bytearray(body)
            damaged[at] ^= 1 << bit
            with pytest.raises(CorruptRecord, match="here"):
                decode(bytes(damaged), "here")


@pytest.mark.parametrize("size", range(0, 60, 7))
def test_truncated_messages_are_detected(size: int) -> None:
    (body,) = encode(ONE, 0, "log", [of_size(1, 40)])
    with pytest.raises(CorruptRecord, match="here"):
        decode(body[:size], "here")


def test_big_records_of_several_writers_come_apart_again() -> None:
    ours = encode(ONE, 0, "log", [of_size(1, CHUNK_BYTES * 2), of_size(2, CHUNK_BYTES * 2)])
    theirs = encode(OTHER, 0, "log", [of_size(3, CHUNK_BYTES * 2), of_size(4, CHUNK_BYTES * 2)])
    mixed = [body for pair in zip(ours, theirs, strict=True) for body in pair]
    assert sorted(each.seq for each in put_together(mixed)) == [1, 2, 3, 4]
    assert all(each == of_size(each.seq, CHUNK_BYTES * 2) for each in put_together(mixed))


def test_an_incomplete_record_of_a_crashed_writer_is_dropped() -> None:
    assembly = Assembly(patience=10)
    half = encode(OTHER, 0, "log", [of_size(1, CHUNK_BYTES * 3)])[:2]
    whole = encode(ONE, 0, "log", [of_size(seq, CHUNK_BYTES * 2) for seq in range(2, 8)])
    assert [each.seq for each in put_together([*half, *whole], assembly)] == [2, 3, 4, 5, 6, 7]
    assert not assembly._open


def test_an_aborted_record_is_dropped_with_the_next() -> None:
    assembly = Assembly(PATIENCE)
    bodies = [
        *encode(ONE, 0, "log", [of_size(1, CHUNK_BYTES * 3)])[:2],
        *encode(ONE, 10, "log", [of_size(1, CHUNK_BYTES * 3)]),
    ]
    assert put_together(bodies, assembly) == [of_size(1, CHUNK_BYTES * 3)]
    assert not assembly._open


def test_the_end_of_a_record_without_its_beginning_is_reported_as_missing() -> None:
    bodies = encode(ONE, 0, "log", [of_size(1, CHUNK_BYTES * 3)])
    assembly = Assembly(PATIENCE)
    assert put_together(bodies[1:], assembly) == []
    assert assembly.missing


@pytest.mark.parametrize("body", [0, 10, CHUNK_BYTES // 2 - 1, CHUNK_BYTES // 2, CHUNK_BYTES + 5])
@pytest.mark.parametrize("tail", [1, 1000, CHUNK_BYTES - 24, CHUNK_BYTES, 4 * CHUNK_BYTES + 7])
def test_a_record_with_a_tail_has_the_messages_of_one_without(body: int, tail: int) -> None:
    split = Record(Kind.DATA, 0, 1, b"b" * body, 7, b"t" * tail)
    assert list(encode(ONE, 5, "log", [split])) == list(encode(ONE, 5, "log", [split.whole()]))
