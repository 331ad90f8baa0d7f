"""Splits a table into pieces for the upload: files at record boundaries, frames at rows. The same data must always give
the same pieces, so that an aborted upload can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa

from cauce.api.http import ARROW_STREAM, COLUMNS, FILE, FIRST_LINE
from cauce.client.settings import PART_BYTES
from cauce.client.transport import Body
from cauce.errors import DataNotFound, JobFailed, UnknownName, WrongColumns
from cauce.plan.physical import Plan
from cauce.scan.discovery import check_folder, find_files
from cauce.scan.formats.format import Format
from cauce.scan.formats.table import format_of
from cauce.scan.parts import TableFile
from cauce.scan.reader import check_columns, parts_of
from cauce.scan.tables import TableSpec

LONGEST_COLUMNS = 8 * 2**10
"""Longer column lists are sent in the body, because servers limit the size of request headers."""


class Buffer:
    """A buffer that is reused for one piece after the other, and grows as needed."""

    def __init__(self, size: int = 0) -> None:
        self._held = bytearray(size)

    def of(self, size: int) -> memoryview:
        if len(self._held) < size:
            # A new one, because a stored exception may still reference a view of the old one.
            self._held = bytearray(size + size // 8)
        return memoryview(self._held)[:size]


@dataclass(frozen=True)
class Range:
    """A byte range of a file, read only when it is sent."""

    path: str
    start: int
    end: int
    before: bytes = b""

    def __len__(self) -> int:
        return len(self.before) + self.end - self.start

    def read(self, buffer: Buffer) -> memoryview:
        size = len(self)
        view = buffer.of(size)
        done = len(self.before)
        view[:done] = self.before
        with open(self.path, "rb", buffering=0) as file:
            while done < size:
                got = os.preadv(file.fileno(), [view[done:]], self.start + done - len(self.before))
                if got == 0:
                    raise JobFailed(f"{self.path} was truncated during the upload; retry with an unchanged file")
                done += got
        return view


@dataclass(frozen=True)
class Piece:
    """A part that has no sequence number yet."""

    media_type: str
    content: Range | Body
    weight: int
    """Bytes of the file that it represents, for the progress."""
    file: str
    first_line: int
    columns: tuple[str, ...] | None
    """The names of its columns, if they are sent in a request header."""
    extent: str
    """The range of its file as text: bytes or rows."""

    @property
    def headers(self) -> dict[str, str]:
        """The request headers that describe it."""
        beside = {} if self.columns is None else {COLUMNS: _quoted(self.columns)}
        return {"Content-Type": self.media_type, FILE: quote(self.file), FIRST_LINE: str(self.first_line), **beside}


@dataclass(frozen=True)
class Source:
    """The input of a table: files or a frame."""

    spec: TableSpec
    files: list[TableFile]
    frame: pl.DataFrame | None = None

    @property
    def bytes(self) -> int:
        if self.frame is not None:
            return int(self.frame.estimated_size())
        return sum(file.bytes for file in self.files)

    def pieces(self, part_bytes: int = PART_BYTES) -> Iterator[Piece]:
        if self.frame is not None:
            yield from _frame_pieces(self.spec.name, self.frame, part_bytes)
        for file in self.files:
            batches = format_of(file.path).batches(file, part_bytes)
            if batches is not None:
                yield from _batch_pieces(file, batches, part_bytes)
            else:
                yield from _text_pieces(file, self.spec, part_bytes)


def sources_of(plan: Plan, data: Path | None, frames: Mapping[str, pl.DataFrame]) -> list[Source]:
    """Finds and checks the tables of a plan, as `cauce run` does."""
    unknown = frames.keys() - {spec.name for spec in plan.tables}
    if unknown:
        known = ", ".join(spec.name for spec in plan.tables)
        raise UnknownName(f"unknown table {', '.join(sorted(unknown))}; the queries read {known}")
    found: list[Source] = []
    for spec in plan.tables:
        used = plan.used_columns(spec.name)
        if spec.name in frames:
            _check_frame(frames[spec.name], spec, used)
            found.append(Source(spec, [], frames[spec.name]))
            continue
        wanted = f"{' or '.join(spec.files)} of table {spec.name}"
        if data is None:
            raise DataNotFound(f"no directory given; pass the directory that holds {wanted}")
        check_folder(data, wanted)
        files = find_files(data, spec)
        for file in files:
            check_columns(file, spec, used)
        found.append(Source(spec, files))
    return found


def _check_frame(frame: pl.DataFrame, spec: TableSpec, used: frozenset[str]) -> None:
    missing = sorted({spec.columns[name].header for name in used | set(spec.required)} - set(frame.columns))
    if missing:
        raise WrongColumns(f"the frame of {spec.name} lacks {', '.join(missing)}; it has {', '.join(frame.columns)}")


def _text_pieces(file: TableFile, spec: TableSpec, part_bytes: int) -> Iterator[Piece]:
    """Yields text unparsed. The names of columns that its first line gives are apart from the body."""
    form = format_of(file.path)
    for part in parts_of([file], spec, part_bytes):
        columns, before = _columns(part.header, form, spec)
        content: Range | Body = Range(file.path, part.start, part.end, before)
        what = "bytes"
        if part.data is not None:
            content, what = before + part.data if before else part.data, "decompressed bytes"
        extent = f"{what} {part.start:,} to {part.end:,}"
        yield Piece(form.media_type, content, part.weight, file.name, part.first_line, columns, extent)


def _columns(cells: tuple[str, ...], form: Format, spec: TableSpec) -> tuple[tuple[str, ...] | None, bytes]:
    """Returns the column names for a request header, or else as the first line of the body. Numbered columns of a file
    without a header are then left out."""
    if not form.has_header_line:
        return None, b""
    if len(_quoted(cells)) <= LONGEST_COLUMNS:
        return cells, b""
    return None, form.header_line(cells, spec) if spec.header else b""


def _quoted(cells: tuple[str, ...]) -> str:
    return quote(json.dumps(cells, ensure_ascii=False, separators=(",", ":")))


def _batch_pieces(file: TableFile, batches: Iterator[tuple[pa.Table, int]], part_bytes: int) -> Iterator[Piece]:
    """Yields the rows of a columnar file as Arrow."""
    line = 2
    for batch, weight in batches:
        yield from _slices(file.name, batch, line, part_bytes, weight)
        line += batch.num_rows


def _frame_pieces(name: str, frame: pl.DataFrame, part_bytes: int) -> Iterator[Piece]:
    size = int(frame.estimated_size())
    rows = max(1, frame.height * part_bytes // max(size, 1))
    for first in range(0, max(frame.height, 1), rows):
        piece = frame.slice(first, rows)
        table = piece.to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from _slices(name, table, first + 2, part_bytes, size * piece.height // max(frame.height, 1))


def _slices(name: str, table: pa.Table, line: int, part_bytes: int, weight: int) -> Iterator[Piece]:
    """Yields the rows as one Arrow stream, or as several if they far exceed the size of a part."""
    if table.nbytes > 4 * part_bytes and table.num_rows > 1:
        half = table.num_rows // 2
        yield from _slices(name, table.slice(0, half), line, part_bytes, weight // 2)
        yield from _slices(name, table.slice(half), line + half, part_bytes, weight - weight // 2)
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    extent = f"rows {line - 1:,} to {line - 2 + table.num_rows:,}"
    yield Piece(ARROW_STREAM, memoryview(sink.getvalue()), weight, name, line, None, extent)
