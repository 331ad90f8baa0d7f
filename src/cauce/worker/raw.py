"""What is said of parts: a part itself (a reference into a file, or its bytes), and the report of reading it."""

from __future__ import annotations

import msgspec
import polars as pl

from cauce.scan.block import Block
from cauce.scan.guess import LineCounts
from cauce.scan.parts import InlineForm, Part, TableFile
from cauce.scan.unpack import Compression
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
    form: InlineForm = "csv"
    compression: Compression = ""
    skip: int = 0
    unpacked_bytes: int = 0


def dump_part(part: Part, digest: int | None = None) -> Record:
    """`digest` is one that the caller has made of all that the part says, where that is cheaper than another."""
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
        part.form,
        part.compression,
        part.skip,
        part.unpacked_bytes,
    )
    packed = msgspec.json.encode(head)
    body = len(packed).to_bytes(_LENGTH_BYTES, "little") + packed + (part.data or b"")
    return record(Kind.DATA, CLIENT, part.seq, body, digest)


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
        head.form,
        head.compression,
        head.skip,
        head.unpacked_bytes,
    )


class Report(msgspec.Struct, frozen=True):
    """How many rows a part has, and what of it could not be read."""

    rows: int
    rejects: bytes
    whole: bool = True
    """Whether the part ends where a record does."""
    place: tuple[str, int] | None = None
    """The file and the byte from which its lines are counted, where that is not the file's first."""
    rejected: int = 0
    """How many rejects there are, for who does not want to see them."""

    def frame(self, lines: LineCounts) -> pl.DataFrame:
        frame = load_frame(self.rejects)
        if self.place is None or frame.is_empty():
            return frame
        return frame.with_columns(pl.col("line") + lines.before(*self.place) + 1)


def dump_report(producer: int, part: Part, block: Block, rejects: pl.DataFrame) -> Record:
    place = (part.file.path, part.start) if part.guessed else None
    body = msgspec.msgpack.encode(Report(block.height, dump_frame(rejects), block.whole, place, rejects.height))
    said = f"{block.height} {block.whole} {frame_digest(rejects)}"
    return record(Kind.DATA, producer, part.seq, body, digest_of(said.encode()))


def load_report(data: bytes) -> Report:
    return msgspec.msgpack.decode(data, type=Report)
