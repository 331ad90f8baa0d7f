"""Encodes parts (a reference into a file, or the bytes themselves) and the reports of reading them as records."""

from __future__ import annotations

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from cauce.api.http import Compression
from cauce.fabric.records import CLIENT, Kind, Record, digest_of, record
from cauce.job.frames import dump_frame, frame_digest, load_frame
from cauce.scan.block import Block
from cauce.scan.csv.guess import LineCounts
from cauce.scan.parts import FileState, Part, TableFile

_LENGTH_BYTES = 4


class _StoredPart(msgspec.Struct, frozen=True):
    """A part in its record, without its bytes. Its encoding must not change: a part that is appended again must have
    the same bytes."""

    name: str
    path: str
    bytes: int
    header: tuple[str, ...]
    first_line: int
    start: int
    end: int
    row_group: None
    """Unused."""
    weight: int
    inline: bool
    form: str = "csv"
    compression: Compression = ""
    skip: int = 0
    unpacked_bytes: int = 0
    state: FileState | UnsetType = UNSET
    """Absent unless the file must be in a given state."""


def dump_part(part: Part, digest: int | None = None) -> Record:
    """`digest` covers the whole content of the part; pass it if the caller has already computed it."""
    head = _StoredPart(
        part.file.name,
        part.file.path,
        part.file.bytes,
        part.header,
        part.first_line,
        part.start,
        part.end,
        None,
        part.weight,
        part.data is not None,
        part.form,
        part.compression,
        part.skip,
        part.unpacked_bytes,
        part.file.state or UNSET,
    )
    packed = msgspec.json.encode(head)
    body = len(packed).to_bytes(_LENGTH_BYTES, "little") + packed
    if digest is None:
        return record(Kind.DATA, CLIENT, part.seq, body + (part.data or b""))
    return Record(Kind.DATA, CLIENT, part.seq, body, digest, part.data or b"")


def load_part(part: Record) -> Part:
    size = int.from_bytes(part.body[:_LENGTH_BYTES], "little")
    head = msgspec.json.decode(part.body[_LENGTH_BYTES : _LENGTH_BYTES + size], type=_StoredPart)
    return Part(
        part.seq,
        TableFile(head.name, head.path, head.bytes, head.state or None),
        head.header,
        head.first_line,
        head.start,
        head.end,
        part.body[_LENGTH_BYTES + size :] if head.inline else None,
        head.weight,
        head.form,
        head.compression,
        head.skip,
        head.unpacked_bytes,
    )


class Report(msgspec.Struct, frozen=True):
    """The number of rows of a part, and the cells and rows that were rejected."""

    rows: int
    rejects: bytes
    whole: bool = True
    """Whether the part ends at a record boundary."""
    place: tuple[str, int] | None = None
    """File and byte offset that line numbers are relative to; None for the start of the file."""
    rejected: int = 0
    """The number of rejects, for readers that do not decode them."""

    def frame(self, lines: LineCounts) -> pl.DataFrame:
        frame = load_frame(self.rejects)
        if self.place is None or frame.is_empty():
            return frame
        return frame.with_columns(pl.col("line") + lines.before(*self.place) + 1)


def dump_report(producer: int, part: Part, block: Block, rejects: pl.DataFrame) -> Record:
    place = (part.file.path, part.start) if part.guessed else None
    body = msgspec.msgpack.encode(Report(block.height, dump_frame(rejects), block.whole, place, rejects.height))
    content = f"{block.height} {block.whole} {frame_digest(rejects)}"
    return record(Kind.DATA, producer, part.seq, body, digest_of(content.encode()))


def load_report(data: bytes) -> Report:
    return msgspec.msgpack.decode(data, type=Report)
