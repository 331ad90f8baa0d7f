"""Where a table's rows are: its files in name order, cut once into numbered parts that anyone can read again."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import re
import textwrap
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.errors import DataNotFound, JobFailed, WrongColumns, did_you_mean
from cauce.native.lanes import SPARE_BYTES, Bytes
from cauce.scan.block import Block, CsvBlock, FrameBlock
from cauce.scan.cut import Header, begins_record, cut_ranges, cut_stream, read_header
from cauce.scan.guess import UNKNOWN_LINE, guess_ranges
from cauce.scan.located import padded
from cauce.scan.ndjson import NdjsonBlock
from cauce.scan.tables import TableSpec
from cauce.scan.unpack import Compression, unpack_into, unpacked

PART_BYTES = 16 * 2**20
MOST_PART_BYTES = 64 * 2**20
PARTS_A_WORKER = 8
CHUNK_BYTES = 2**20
_SHOWN_CHARACTERS = 1000
_SHOWN_NAMES = 8
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffd]")
ENCODINGS = (".csv", ".csv.gz", ".csv.zst", ".parquet")

InlineForm = Literal["csv", "arrow", "parquet", "ndjson"]

Buffer = Callable[[int], npt.NDArray[np.uint8]]
"""Gives a byte array of at least this size, which may be the one it gave before."""


@dataclass(frozen=True)
class TableFile:
    """A file of a table. `name` is how rejects call it: its path below the data folder."""

    name: str
    path: str
    bytes: int

    @property
    def encoding(self) -> str:
        return next(each for each in sorted(ENCODINGS, key=len, reverse=True) if self.path.endswith(each))


@dataclass(frozen=True)
class Part:
    """A numbered piece of a table: a byte range of a CSV file, a Parquet row group, or its bytes themselves.

    Bytes that a client has sent are kept as they came: in one of several forms, perhaps compressed, with `skip`
    bytes of header before the first record and `unpacked_bytes` in all when decompressed."""

    seq: int
    file: TableFile
    header: tuple[str, ...]
    first_line: int
    start: int
    end: int
    data: bytes | None = None
    row_group: int | None = None
    weight: int = 0
    """Bytes of the file that this part accounts for, to show progress by."""
    form: InlineForm = "csv"
    compression: Compression = ""
    skip: int = 0
    unpacked_bytes: int = 0

    def read(self, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> Block:
        """The part's rows with at least these columns located."""
        if self.row_group is not None:
            return self._read_row_group(self.row_group, spec, columns)
        if self.data is not None and self.form != "csv":
            return self._read_inline(self.data, spec, columns)
        if self.data is not None and (self.compression or self.skip):
            length = self.unpacked_bytes - self.skip
            held = buffer(length + SPARE_BYTES)
            unpack_into(held, self.data, self.compression, self.skip, length)
        elif self.data is not None:
            held, length = padded(self.data), len(self.data)
        else:
            length = self.end - self.start
            held = _range_of(self.file.path, self.start, self.end, buffer)
        open_end = self.guessed and self.end < self.file.bytes
        return CsvBlock(spec, self.file.name, self.header, self.first_line, held, length, columns, open_end)

    @property
    def guessed(self) -> bool:
        """Whether its bounds are a guess, and lines are counted from its own start."""
        return self.first_line == UNKNOWN_LINE

    def _read_inline(self, data: bytes, spec: TableSpec, columns: frozenset[str]) -> Block:
        """Rows in another form than CSV. That the bytes are what they should be was checked when they came."""
        if self.form == "ndjson":
            text = b"".join(unpacked(data, self.compression)) if self.compression else data
            return NdjsonBlock(spec, self.file.name, self.first_line, text, columns)
        headers = sorted({spec.columns[name].header for name in columns | set(spec.required)})
        if self.form == "arrow":
            with pa.ipc.open_stream(data) as stream:
                table = stream.read_all().select(headers)
        else:
            with open_parquet(data) as file:
                table = file.read(columns=headers, use_threads=False)
        return self._frame_block(table, spec)

    def _frame_block(self, table: pa.Table, spec: TableSpec) -> Block:
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        if not table.num_columns:
            frame = pl.DataFrame({"#row": np.zeros(table.num_rows, np.int8)})
        return FrameBlock(spec, self.file.name, self.first_line, {each.name: each for each in frame})

    def _read_row_group(self, row_group: int, spec: TableSpec, columns: frozenset[str]) -> Block:
        headers = sorted({spec.columns[name].header for name in columns | set(spec.required)})
        with _parquet().ParquetFile(self.file.path) as file:
            if row_group < 0:
                table = file.schema_arrow.empty_table().select(headers)
            else:
                table = file.read_row_group(row_group, columns=headers)
        return self._frame_block(table, spec)


def open_parquet(data: bytes, read_dictionary: list[int] | None = None) -> Any:
    """Parquet that somebody has sent: opened in one way only, by who checks it and by who reads it."""
    limits = {"thrift_string_size_limit": 2**20, "thrift_container_size_limit": 100_000}
    return _parquet().ParquetFile(io.BytesIO(data), read_dictionary=read_dictionary, pre_buffer=False, **limits)


def _range_of(path: str, start: int, end: int, buffer: Buffer) -> Bytes:
    """The bytes of a range, with spare ones after them: mapped, so that nothing is copied, or read, at a file's end.

    Should the file shrink while it is mapped, the process dies, and whoever does its work again finds it too short.
    """
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if end + SPARE_BYTES <= size:
            first = start - start % mmap.ALLOCATIONGRANULARITY
            held = mmap.mmap(file.fileno(), end + SPARE_BYTES - first, access=mmap.ACCESS_READ, offset=first)
            return np.frombuffer(held, np.uint8)[start - first :]
        read = buffer(end - start + SPARE_BYTES)
        done = 0
        while done < end - start:
            got = os.preadv(file.fileno(), [read[done : end - start].data], start + done)
            if got == 0:
                raise JobFailed(f"{path} became shorter while it was read: start again with an unchanged file")
            done += got
        read[end - start : end - start + SPARE_BYTES] = 0
        return read


def _parquet() -> Any:
    # Loaded by those who need it.
    import pyarrow.parquet

    return pyarrow.parquet


def check_folder(data: Path, holding: str) -> None:
    """Raises unless `data` is a directory that may be read. `holding` is what it should hold."""
    needed = f"name the directory that holds {holding}"
    if not data.exists():
        near = did_you_mean(data.name, _names_in(data.parent))
        raise DataNotFound(f"directory {data} does not exist; {needed}{near}")
    if not data.is_dir():
        raise DataNotFound(f"{data} is a file, not a directory; {needed}")
    if not os.access(data, os.R_OK | os.X_OK):
        raise DataNotFound(f"no permission to read directory {data}; run `chmod u+rx {data}`, or name another one")


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []


def find_files(data: Path, spec: TableSpec) -> list[TableFile]:
    """The files of a table, by base name. The first of its alternatives that matches anything counts."""
    for pattern in spec.files:
        found = _matching(data, pattern)
        if found:
            return found
    wanted = " or ".join(spec.files)
    names = _names_in(data)
    there = (", ".join(names[:_SHOWN_NAMES]) or "nothing") + (", …" if len(names) > _SHOWN_NAMES else "")
    below = next((each for each in map(data.joinpath, names) if _holds(each, spec)), None)
    advice = f"name the directory {below}" if below else "put the file there, or name the directory that holds it"
    raise DataNotFound(
        f"table {spec.name} needs {wanted} (or .csv.gz, .csv.zst, .parquet) in {data}, which holds {there}; {advice}"
    )


def _holds(folder: Path, spec: TableSpec) -> bool:
    return folder.is_dir() and any(_matching(folder, pattern) for pattern in spec.files)


def _matching(data: Path, pattern: str) -> list[TableFile]:
    stem = pattern.removesuffix(".csv")
    folders = {stem, stem.rpartition("/")[2]}
    paths = {
        path
        for each in sorted(folders)
        for encoding in ENCODINGS
        for path in data.glob(each + encoding)
        if path.is_file()
    }
    by_stem: dict[str, Path] = {}
    for path in sorted(paths):
        plain = path.name
        for encoding in sorted(ENCODINGS, key=len, reverse=True):
            plain = plain.removesuffix(encoding)
        if plain in by_stem:
            raise DataNotFound(f"{by_stem[plain]} and {path} are the same file twice: keep one of them")
        by_stem[plain] = path
    ordered = sorted(by_stem.values(), key=lambda path: path.name)
    return [TableFile(path.relative_to(data).as_posix(), str(path), path.stat().st_size) for path in ordered]


def check_columns(file: TableFile, spec: TableSpec, columns: frozenset[str]) -> None:
    """Raises unless the file has every column that is needed."""
    try:
        header = _header(file, spec)
    except PermissionError:
        raise DataNotFound(f"no permission to read {file.path}; run `chmod u+r {file.path}`") from None
    check_header(file.name, header, spec, columns)


def check_header(name: str, header: tuple[str, ...], spec: TableSpec, columns: frozenset[str]) -> None:
    twice = {cell for cell, count in Counter(header).items() if count > 1}
    needed = {spec.columns[column].header for column in columns | set(spec.required)}
    if needed & twice:
        raise WrongColumns(f"{name} has more than one column {', '.join(sorted(needed & twice))}")
    missing = sorted(needed - set(header))
    if not missing:
        return
    if not is_text(header):
        raise WrongColumns(
            f"{name} is not a text file: its first line holds bytes that are not UTF-8 text; save it as CSV in UTF-8, "
            "or, if it is compressed or Parquet, give it the ending .csv.gz, .csv.zst or .parquet"
        )
    shown = textwrap.shorten(", ".join(header), _SHOWN_CHARACTERS)
    raise WrongColumns(
        f"{name} lacks {', '.join(missing)}; its header has {shown}"
        + (f" (read with delimiter {spec.delimiter!r})" if len(header) == 1 else "")
        + "; the first line must name the columns as the dataset does"
        + did_you_mean(missing[0], set(header) - needed)
    )


def is_text(cells: tuple[str, ...]) -> bool:
    """Whether the names of columns can be read by people: no control characters, nothing that was not UTF-8."""
    return not any(_UNREADABLE.search(cell) for cell in cells)


def _header(file: TableFile, spec: TableSpec) -> tuple[str, ...]:
    if file.encoding == ".parquet":
        try:
            return tuple(_parquet().read_schema(file.path).names)
        except PermissionError:
            raise
        except (pa.ArrowInvalid, OSError) as problem:
            raise WrongColumns(
                f"{file.name} cannot be read as Parquet: {problem}; copy or write the file again"
            ) from problem
    if file.encoding == ".csv":
        return read_header(file.path, spec.delimiter).cells
    pieces = cut_stream(_chunks(file), delimiter=spec.delimiter, part_bytes=1, name=file.name)
    first = next(pieces)
    assert isinstance(first, Header)
    return first.cells


def part_bytes_for(files: list[TableFile], workers: int) -> int:
    """How large the parts of a table should be: what each costs beside its bytes weighs less in large ones, but
    every worker should have several, and a death should cost little."""
    total = sum(file.bytes for file in files)
    return min(max(total // (workers * PARTS_A_WORKER), PART_BYTES), MOST_PART_BYTES)


def parts_of(
    files: list[TableFile], spec: TableSpec, part_bytes: int = PART_BYTES, guess: bool = False
) -> Iterator[Part]:
    """All parts of a table, numbered from 0 along its files. A file without rows is one part without rows, so
    that an empty table has columns too. With ``guess``, files that allow it are cut without being read."""
    seq = 0
    for file in files:
        for part in _parts_of_file(file, spec, part_bytes, guess):
            yield replace(part, seq=seq)
            seq += 1


def _parts_of_file(file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
    if file.encoding == ".parquet":
        yield from _row_groups(file)
    elif file.encoding == ".csv":
        yield from _ranges(file, spec, part_bytes, guess)
    else:
        yield from _streamed(file, spec, part_bytes)


def _ranges(file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
    header = read_header(file.path, spec.delimiter)
    empty = True
    # Any line may be a record of one cell.
    if guess and len(header.cells) > 1:
        ranges = guess_ranges(file.path, header, delimiter=spec.delimiter, part_bytes=part_bytes)
    else:
        ranges = cut_ranges(file.path, delimiter=spec.delimiter, part_bytes=part_bytes)
    for each in ranges:
        weight = each.end - (0 if empty else each.start)
        yield Part(0, file, header.cells, each.first_line, each.start, each.end, weight=weight)
        empty = False
    if os.path.getsize(file.path) != file.bytes:
        raise JobFailed(f"{file.path} changed while it was read: start again when nobody writes to it")
    if empty:
        yield Part(0, file, header.cells, header.lines + 1, header.end, header.end)


def cuts_hold(files: list[TableFile], spec: TableSpec, part_bytes: int) -> bool:
    """Whether the guessed parts of these files begin and end where records do; reads them whole to tell."""
    for file in files:
        if file.encoding == ".csv":
            ends = [part.end for part in _ranges(file, spec, part_bytes, guess=True) if part.guessed]
            if not begins_record(file.path, delimiter=spec.delimiter, places=ends):
                return False
    return True


def _row_groups(file: TableFile) -> Iterator[Part]:
    meta = _parquet().read_metadata(file.path)
    row = 2
    if meta.num_row_groups == 0:
        yield Part(0, file, (), row, 0, 0, row_group=-1)
    for group in range(meta.num_row_groups):
        rows = meta.row_group(group).num_rows
        weight = file.bytes // meta.num_row_groups
        yield Part(0, file, (), row, 0, rows, row_group=group, weight=weight)
        row += rows


def _streamed(file: TableFile, spec: TableSpec, part_bytes: int) -> Iterator[Part]:
    """A compressed file has no ranges to come back to: its parts carry their bytes."""
    taken = [0]
    header = Header((), 0, 0)
    empty = True
    for piece in cut_stream(_chunks(file, taken), delimiter=spec.delimiter, part_bytes=part_bytes, name=file.name):
        if isinstance(piece, Header):
            header = piece
            continue
        weight, taken[0] = taken[0], 0
        end = piece.start + len(piece.data)
        yield Part(0, file, header.cells, piece.first_line, piece.start, end, data=piece.data, weight=weight)
        empty = False
    if empty:
        yield Part(0, file, header.cells, header.lines + 1, header.end, header.end, data=b"")


def _chunks(file: TableFile, taken: list[int] | None = None) -> Iterator[bytes]:
    """Decompressed bytes; `taken` counts how far the compressed file has been read."""
    try:
        with open(file.path, "rb") as raw:
            before = 0
            opened = gzip.GzipFile(fileobj=raw) if file.encoding == ".csv.gz" else pa.CompressedInputStream(raw, "zstd")
            with opened:
                while chunk := opened.read(CHUNK_BYTES):
                    if taken is not None:
                        taken[0] += raw.tell() - before
                        before = raw.tell()
                    yield chunk
    except PermissionError:
        raise
    except (OSError, EOFError, zlib.error, pa.ArrowException) as problem:
        raise JobFailed(
            f"{file.name} cannot be decompressed: {problem}; copy the file again, or correct its ending"
        ) from problem
