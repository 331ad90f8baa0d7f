"""What is said of parts: a part itself (a reference into a file, or its bytes), and the report of reading it."""

from __future__ import annotations

import msgspec
import polars as pl

from cauce.scan.parts import Part, TableFile
from cauce.wire.frames import dump_frame, frame_digest, load_frame
from cauce.wire.records import CLIENT, Kind, Record, digest_of, record

_LENGTH_BYTES = 4


class _Head(msgspec.Struct, frozen=True):
    name: str
    path: str
    bytes: int
    header: tuple[str, ...]
    first_line: int
    start: int
    end: int
    row_group: int | None
    weight: int
    inline: bool


def dump_part(part: Part) -> Record:
    head = _Head(
        part.file.name,
        part.file.path,
        part.file.bytes,
        part.header,
        part.first_line,
        part.start,
        part.end,
        part.row_group,
        part.weight,
        part.data is not None,
    )
    packed = msgspec.json.encode(head)
    body = len(packed).to_bytes(_LENGTH_BYTES, "little") + packed + (part.data or b"")
    return record(Kind.DATA, CLIENT, part.seq, body)


def load_part(part: Record) -> Part:
    size = int.from_bytes(part.body[:_LENGTH_BYTES], "little")
    head = msgspec.json.decode(part.body[_LENGTH_BYTES : _LENGTH_BYTES + size], type=_Head)
    return Part(
        part.seq,
        TableFile(head.name, head.path, head.bytes),
        head.header,
        head.first_line,
        head.start,
        head.end,
        part.body[_LENGTH_BYTES + size :] if head.inline else None,
        head.row_group,
        head.weight,
    )


class Report(msgspec.Struct, frozen=True):
    """How many rows a part has, and what of it could not be read."""

    rows: int
    rejects: bytes

    def frame(self) -> pl.DataFrame:
        return load_frame(self.rejects)


def dump_report(producer: int, seq: int, rows: int, rejects: pl.DataFrame) -> Record:
    body = msgspec.msgpack.encode(Report(rows, dump_frame(rejects)))
    return record(Kind.DATA, producer, seq, body, digest_of(f"{rows} {frame_digest(rejects)}".encode()))


def load_report(data: bytes) -> Report:
    return msgspec.msgpack.decode(data, type=Report)
