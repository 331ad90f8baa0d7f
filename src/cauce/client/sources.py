"""Splits a table into parts for the upload: files at record boundaries, frames at rows. The same data must always give
the same parts, so that an aborted upload can resume."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa

from cauce.api.http import COLUMNS, FILE, FIRST_LINE
from cauce.api.parts import PartReceipt
from cauce.client.file_range import FileRange, truncated
from cauce.client.settings import LARGE_FILE_BYTES, LARGE_PART_BYTES, PART_BYTES
from cauce.client.transport import Body
from cauce.errors import DataNotFound, UnknownName, WrongColumns
from cauce.plan.physical import Plan
from cauce.scan.discovery import check_folder, find_files
from cauce.scan.formats.arrow_stream import ArrowStream
from cauce.scan.formats.table import format_named, format_of
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import check_columns, parts_of
from cauce.scan.tables import TableSpec

LONGEST_COLUMNS = 8 * 2**10
"""Longer column lists are sent in the body, because servers limit the size of request headers."""


class Buffer:
    """A buffer that is reused for one part after the other, and grows as needed."""

    def __init__(self, size: int = 0) -> None:
        self._held = bytearray(size)

    def of(self, size: int) -> memoryview:
        if len(self._held) < size:
            # A new one, because a stored exception may still reference a view of the old one.
            self._held = bytearray(size + size // 8)
        return memoryview(self._held)[:size]


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

    def parts(self, part_bytes: int = 0, small: Collection[str] = ()) -> Iterator[Part]:
        """The parts of the table as they are sent, numbered from 0: text unparsed, other rows as Arrow. With a size of
        0 it depends on the file; those with the names `small` are cut into small parts whatever their size."""
        for seq, part in enumerate(self._parts(part_bytes, small)):
            yield replace(part, seq=seq)

    def _parts(self, part_bytes: int, small: Collection[str]) -> Iterator[Part]:
        if self.frame is not None:
            yield from _frame_parts(self.spec.name, self.frame, part_bytes or PART_BYTES)
        for file in self.files:
            batches = format_of(file.path).batches(file, part_bytes or PART_BYTES)
            if batches is not None:
                yield from _batch_parts(file, batches, part_bytes or PART_BYTES)
            else:
                large = file.bytes >= LARGE_FILE_BYTES and file.name not in small
                yield from parts_of([file], self.spec, part_bytes or (LARGE_PART_BYTES if large else PART_BYTES))

    def body(self, part: Part, buffer: Buffer) -> Body:
        """The bytes to send. Those of a range are read from its file into the buffer."""
        _, before = _columns_of(part, self.spec)
        if part.data is not None:
            return before + part.data if before else part.data
        return _read(part, before, buffer)

    def range(self, part: Part) -> FileRange | None:
        """Where the bytes to send lie in a file, if they need neither be read nor preceded by column names."""
        _, before = _columns_of(part, self.spec)
        if part.data is not None or before or part.end <= part.start:
            return None
        return FileRange(part.file.path, part.start, part.end - part.start)

    def headers(self, part: Part) -> dict[str, str]:
        """The request headers that describe a part."""
        columns = self.columns(part)
        return {
            "Content-Type": format_named(part.form).media_type,
            FILE: quote(part.file.name),
            FIRST_LINE: str(part.first_line),
            **({} if columns is None else {COLUMNS: _quoted(columns)}),
        }

    def columns(self, part: Part) -> tuple[str, ...] | None:
        """The names of the columns, if they are sent in a request header."""
        return _columns_of(part, self.spec)[0]


def files_in_small_parts(held: Iterable[PartReceipt]) -> set[str]:
    """The files that the service holds in small parts, as clients of earlier versions cut large files, too. A part may
    be larger, if a single record is, or smaller, at the end of a file: most parts of a file decide."""
    excess = Counter[str]()
    for each in held:
        excess[each.file] += 1 if each.size > (PART_BYTES + LARGE_PART_BYTES) // 2 else -1
    return {file for file, count in excess.items() if count < 0}


def extent_of(part: Part) -> str:
    """The range of a part in its file, as text."""
    if part.form == ArrowStream.name:
        return f"rows {part.start:,} to {part.end:,}"
    unit = "bytes" if part.data is None else "decompressed bytes"
    return f"{unit} {part.start:,} to {part.end:,}"


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


def _columns_of(part: Part, spec: TableSpec) -> tuple[tuple[str, ...] | None, bytes]:
    """The names of the columns for a request header, or else as the first line of the body. Numbered columns of a file
    without a header are then left out."""
    form = format_named(part.form)
    if not form.has_header_line:
        return None, b""
    if len(_quoted(part.header)) <= LONGEST_COLUMNS:
        return part.header, b""
    return None, form.header_line(part.header, spec) if spec.header else b""


def _read(part: Part, before: bytes, buffer: Buffer) -> memoryview:
    """The bytes of a range of a file, after `before`."""
    size = len(before) + part.end - part.start
    view = buffer.of(size)
    done = len(before)
    view[:done] = before
    with open(part.file.path, "rb", buffering=0) as file:
        while done < size:
            got = os.preadv(file.fileno(), [view[done:]], part.start + done - len(before))
            if got == 0:
                raise truncated(part.file.path)
            done += got
    return view


def _quoted(cells: tuple[str, ...]) -> str:
    return quote(json.dumps(cells, ensure_ascii=False, separators=(",", ":")))


def _batch_parts(file: TableFile, batches: Iterator[tuple[pa.Table, int]], part_bytes: int) -> Iterator[Part]:
    """The rows of a columnar file."""
    line = 2
    for batch, weight in batches:
        yield from _arrow_parts(file, batch, line, part_bytes, weight)
        line += batch.num_rows


def _frame_parts(name: str, frame: pl.DataFrame, part_bytes: int) -> Iterator[Part]:
    size = int(frame.estimated_size())
    rows = max(1, frame.height * part_bytes // max(size, 1))
    file = TableFile(name, "", size)
    for first in range(0, max(frame.height, 1), rows):
        some = frame.slice(first, rows)
        table = some.to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from _arrow_parts(file, table, first + 2, part_bytes, size * some.height // max(frame.height, 1))


def _arrow_parts(file: TableFile, table: pa.Table, line: int, part_bytes: int, weight: int) -> Iterator[Part]:
    """The rows as one Arrow stream, or as several if they far exceed the size of a part."""
    if table.nbytes > 4 * part_bytes and table.num_rows > 1:
        half = table.num_rows // 2
        yield from _arrow_parts(file, table.slice(0, half), line, part_bytes, weight // 2)
        yield from _arrow_parts(file, table.slice(half), line + half, part_bytes, weight - weight // 2)
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    first, last = line - 1, line - 2 + table.num_rows
    data = sink.getvalue().to_pybytes()
    yield Part(0, file, (), line, first, last, data, weight, ArrowStream.name)
