"""The pieces in which a table is sent: its files cut at records, or a frame cut at rows. The same data always gives
the same pieces, so that an upload which was broken off can go on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from cauce.client.settings import PART_BYTES
from cauce.client.transport import Body
from cauce.errors import DataNotFound, JobFailed, UnknownName, WrongColumns
from cauce.plan.physical import Plan
from cauce.scan.parts import TableFile, check_columns, check_folder, find_files, parts_of
from cauce.scan.tables import TableSpec
from cauce.wire.http import ARROW_STREAM, COLUMNS, CSV, FILE, FIRST_LINE

LONGEST_COLUMNS = 8 * 2**10
"""A header longer than this travels in the body: servers bound the size of what precedes it."""


class Room:
    """Memory that is used again and again for one thing after the other."""

    def __init__(self, size: int = 0) -> None:
        self._held = bytearray(size)

    def of(self, size: int) -> memoryview:
        if len(self._held) < size:
            # A new one: an error that is kept somewhere may still look at the old.
            self._held = bytearray(size + size // 8)
        return memoryview(self._held)[:size]


@dataclass(frozen=True)
class Range:
    """Bytes of a file that are read when it is their turn."""

    path: str
    start: int
    end: int
    before: bytes = b""

    def __len__(self) -> int:
        return len(self.before) + self.end - self.start

    def read(self, room: Room) -> memoryview:
        size = len(self)
        view = room.of(size)
        done = len(self.before)
        view[:done] = self.before
        with open(self.path, "rb", buffering=0) as file:
            while done < size:
                got = os.preadv(file.fileno(), [view[done:]], self.start + done - len(self.before))
                if got == 0:
                    raise JobFailed(f"{self.path} became shorter while it was sent: start again with an unchanged file")
                done += got
        return view


@dataclass(frozen=True)
class Piece:
    """A part before it has a number."""

    media_type: str
    content: Range | Body
    weight: int
    """Bytes of the file that it accounts for, to show progress by."""
    file: str
    first_line: int
    columns: tuple[str, ...] | None
    """The names of its columns, where they travel beside the body."""
    extent: str
    """The range of its file in words: bytes or rows."""

    @property
    def headers(self) -> dict[str, str]:
        """How a request describes it."""
        beside = {} if self.columns is None else {COLUMNS: _quoted(self.columns)}
        return {"Content-Type": self.media_type, FILE: quote(self.file), FIRST_LINE: str(self.first_line), **beside}


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

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
            if file.encoding == ".parquet":
                try:
                    yield from _parquet_pieces(file, part_bytes)
                except pa.ArrowException as problem:
                    raise JobFailed(f"{file.name} cannot be read as Parquet: {problem}") from problem
            else:
                yield from _csv_pieces(file, self.spec, part_bytes)


def sources_of(plan: Plan, data: Path | None, frames: Mapping[str, pl.DataFrame]) -> list[Source]:
    """The tables of a plan, found and checked as `cauce run` does."""
    unknown = frames.keys() - {spec.name for spec in plan.tables}
    if unknown:
        known = ", ".join(spec.name for spec in plan.tables)
        raise UnknownName(f"the queries need no table {', '.join(sorted(unknown))}; they need {known}")
    found: list[Source] = []
    for spec in plan.tables:
        used = plan.used_columns(spec.name)
        if spec.name in frames:
            _check_frame(frames[spec.name], spec, used)
            found.append(Source(spec, [], frames[spec.name]))
            continue
        wanted = f"{' or '.join(spec.files)} of table {spec.name}"
        if data is None:
            raise DataNotFound(f"no folder was given; name the folder that holds {wanted}")
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


def _csv_pieces(file: TableFile, spec: TableSpec, part_bytes: int) -> Iterator[Piece]:
    """CSV as it is: unparsed, with its header beside it."""
    for part in parts_of([file], spec, part_bytes):
        columns, before = _columns(part.header, spec.delimiter)
        content: Range | Body = Range(file.path, part.start, part.end, before)
        what = "bytes"
        if part.data is not None:
            content, what = before + part.data if before else part.data, "decompressed bytes"
        extent = f"{what} {part.start:,} to {part.end:,}"
        yield Piece(CSV, content, part.weight, file.name, part.first_line, columns, extent)


def _columns(cells: tuple[str, ...], delimiter: str) -> tuple[tuple[str, ...] | None, bytes]:
    """The names of the columns: to travel as a header of the request, or else as a first line."""
    if len(_quoted(cells)) <= LONGEST_COLUMNS:
        return cells, b""
    line = delimiter.join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return None, f"{line}\n".encode()


def _quoted(cells: tuple[str, ...]) -> str:
    return quote(json.dumps(cells, ensure_ascii=False, separators=(",", ":")))


def _parquet_pieces(file: TableFile, part_bytes: int) -> Iterator[Piece]:
    """Row groups as Arrow, in slices: a row group may be larger than a part may be."""
    with pq.ParquetFile(file.path) as opened:
        meta = opened.metadata
        line = 2
        if meta.num_rows == 0:
            yield from _slices(file.name, opened.schema_arrow.empty_table(), line, part_bytes, file.bytes)
        for group in range(meta.num_row_groups):
            shape = meta.row_group(group)
            if shape.num_rows == 0:
                continue
            rows = max(1, shape.num_rows * part_bytes // max(shape.total_byte_size, 1))
            for batch in opened.iter_batches(batch_size=min(rows, 2**20), row_groups=[group]):
                weight = file.bytes * batch.num_rows // meta.num_rows
                yield from _slices(file.name, pa.Table.from_batches([batch]), line, part_bytes, weight)
                line += batch.num_rows


def _frame_pieces(name: str, frame: pl.DataFrame, part_bytes: int) -> Iterator[Piece]:
    size = int(frame.estimated_size())
    rows = max(1, frame.height * part_bytes // max(size, 1))
    for first in range(0, max(frame.height, 1), rows):
        piece = frame.slice(first, rows)
        table = piece.to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from _slices(name, table, first + 2, part_bytes, size * piece.height // max(frame.height, 1))


def _slices(name: str, table: pa.Table, line: int, part_bytes: int, weight: int) -> Iterator[Piece]:
    """The rows as one Arrow stream, or as several where they are far larger than a part should be."""
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
