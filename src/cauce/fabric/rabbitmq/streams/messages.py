"""The message format: several small records in a message, or a large record in several messages, with a checksum each.

    head    version, kind, CRC of all else, author, seq, length of the log's name; then the name
    BATCH   length and bytes of each record
    CHUNK   seq of the record's first message, index, count; then a piece of the record
    NOTE    opaque content, not a record

An author is one `Writer`, and its seqs increase. So a reader recognises the messages of its own session.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from cauce.errors import CorruptRecord, FabricError
from cauce.fabric.checksum import crc32
from cauce.fabric.records import Record, load, load_pieces
from cauce.fabric.versions import check_version

VERSION = 1
CHUNK_BYTES = (2 << 20) + (32 << 10)
"""Maximum payload of a message: brokers refuse large ones (4.x: 16 MiB), and prefetch is counted in messages. Slightly
more than 2 MiB, so that an uploaded part of 4 or 8 MiB and its description take two or four messages."""
BATCH_BYTES = 256 << 10
MOST_IN_A_BATCH = 4096
MOST_RECORD_BYTES = 1 << 30
AUTHOR_BYTES = 16
PATIENCE = 10_000
"""Number of messages after which an incomplete record is dropped."""

_HEAD = struct.Struct("<BBI16sQB")
_BEFORE_CRC, _BEHIND_CRC = 2, 6
_LENGTH = struct.Struct("<I")
_CHUNK = struct.Struct("<QII")


class Kind(IntEnum):
    BATCH = 1
    CHUNK = 2
    NOTE = 3


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a record. `first` is the seq of the record's first message and identifies the record."""

    first: int
    index: int
    count: int
    piece: memoryview


@dataclass(frozen=True, slots=True)
class Message:
    author: bytes
    seq: int
    log: str
    """In its stored form."""
    records: Sequence[Record] = ()
    chunk: Chunk | None = None
    note: bytes = b""


def encode(author: bytes, seq: int, log: str, records: Sequence[Record]) -> list[bytes]:
    """Encodes records of a log as messages, in order, with consecutive seqs from `seq` on."""
    bodies: list[bytes] = []
    for batch in _batches(records):
        if len(batch) == 1 and batch[0].size > CHUNK_BYTES:
            bodies += _chunks(author, seq + len(bodies), log, batch[0])
        else:
            parts = [part for each in batch for part in _parts(each)]
            bodies.append(_pack(Kind.BATCH, author, seq + len(bodies), log, *parts))
    return bodies


def _parts(each: Record) -> tuple[bytes, ...]:
    return _LENGTH.pack(each.size), each.header(), each.body, each.tail


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Groups small records; a large record gets its own batch."""
    batch: list[Record] = []
    size = 0
    for each in records:
        if batch and (size + each.size > BATCH_BYTES or len(batch) >= MOST_IN_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.size
    if batch:
        yield batch


def encode_note(author: bytes, seq: int, note: bytes) -> bytes:
    return _pack(Kind.NOTE, author, seq, "", note)


def _chunks(author: bytes, seq: int, log: str, large: Record) -> Iterator[bytes]:
    """Without a copy of the whole record."""
    if large.size > MOST_RECORD_BYTES:
        raise FabricError(
            f"a record of {large.size} bytes for log {log} exceeds the limit of {MOST_RECORD_BYTES}: split it into "
            "smaller records"
        )
    count = -(-large.size // CHUNK_BYTES)
    head, body = _head_and_rest(large)
    start = 0
    for index in range(count):
        end = (index + 1) * CHUNK_BYTES - len(head)
        before = b"" if index else head
        yield _pack(Kind.CHUNK, author, seq + index, log, _CHUNK.pack(seq, index, count), before, body[start:end])
        start = end


def _head_and_rest(large: Record) -> tuple[bytes, memoryview]:
    """A record in two pieces, of which the first is smaller than a chunk."""
    if large.tail and len(large.body) < CHUNK_BYTES // 2:
        return large.header() + large.body, memoryview(large.tail)
    return large.header(), memoryview(large.whole().body)


def _pack(kind: Kind, author: bytes, seq: int, log: str, *parts: bytes | memoryview) -> bytes:
    name = log.encode()
    head = _HEAD.pack(VERSION, kind, 0, author, seq, len(name))
    crc = 0
    for part in (head[:_BEFORE_CRC], head[_BEHIND_CRC:], name, *parts):
        crc = crc32(part, crc)
    return b"".join((head[:_BEFORE_CRC], _LENGTH.pack(crc), head[_BEHIND_CRC:], name, *parts))


def decode(body: bytes, where: str) -> Message:
    """Decodes a message. Raises CorruptRecord or OtherVersion; `where` names the location in the error."""
    if len(body) < _HEAD.size:
        raise _damaged(where)
    version, kind, crc, author, seq, name_bytes = _HEAD.unpack_from(body)
    view = memoryview(body)
    # Checked before the version, which may be damaged too: version and CRC have fixed offsets in every version.
    if crc32(view[_BEHIND_CRC:], crc32(view[:_BEFORE_CRC])) != crc:
        raise _damaged(where)
    if version != VERSION:
        check_version(version, VERSION, f"a message in {where}")
    start = _HEAD.size + name_bytes
    log = str(view[_HEAD.size : start], "utf-8")
    match kind:
        case Kind.BATCH:
            return Message(author, seq, log, records=_records(view[start:], where))
        case Kind.CHUNK:
            first, index, count = _CHUNK.unpack_from(view, start)
            return Message(author, seq, log, chunk=Chunk(first, index, count, view[start + _CHUNK.size :]))
        case Kind.NOTE:
            return Message(author, seq, log, note=body[start:])
    raise CorruptRecord(f"{where}: unknown message kind {kind}; another version may have written it")


def _records(data: memoryview, where: str) -> list[Record]:
    found: list[Record] = []
    at = 0
    while at < len(data):
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        found.append(load(data[at : at + size], where))
        at += size
    return found


def _damaged(where: str) -> CorruptRecord:
    return CorruptRecord(
        f"{where}: a message is damaged; another program may write there, or the broker's disk is faulty"
    )


class Assembly:
    """Assembles records from pieces of several authors. Incomplete records are dropped after a while. If the last piece
    of a dropped record arrives, `missing` is True, and its pieces must be read again."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._open: dict[tuple[bytes, int], dict[int, Chunk]] = {}
        self._first_offsets: dict[tuple[bytes, int], int] = {}
        self.missing = False

    def add(self, author: bytes, chunk: Chunk, offset: int, where: str) -> Record | None:
        """The record, if this piece completes it."""
        self._forget(author, chunk.first, offset)
        key = (author, chunk.first)
        pieces = self._open.setdefault(key, {})
        self._first_offsets.setdefault(key, offset)
        pieces[chunk.index] = chunk
        # Pieces of one author arrive in order.
        self.missing = chunk.index == chunk.count - 1 and len(pieces) < chunk.count
        if len(pieces) < chunk.count:
            return None
        self._drop(key)
        return load_pieces([pieces[index].piece for index in range(chunk.count)], where)

    def _forget(self, author: bytes, first: int, offset: int) -> None:
        """Drops incomplete records: an author starts a record only after it completed or aborted the previous one, and
        a crashed author never continues."""
        for key in [
            key
            for key, first_offset in self._first_offsets.items()
            if (key[0] == author and key[1] < first) or first_offset < offset - self._patience
        ]:
            self._drop(key)

    def _drop(self, key: tuple[bytes, int]) -> None:
        del self._open[key], self._first_offsets[key]
