"""Splits the files of a table into numbered parts, and reads parts as blocks, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from cauce.errors import DataNotFound
from cauce.process.limits import cores
from cauce.scan.block import Block
from cauce.scan.files.ahead import ahead
from cauce.scan.files.file_bytes import compression_of
from cauce.scan.formats.table import format_named, format_of
from cauce.scan.headers import check_header
from cauce.scan.parts import PART_BYTES, Buffer, Part, TableFile
from cauce.scan.row_index import Lines
from cauce.scan.tables import TableSpec

MOST_PART_BYTES = 64 * 2**20
PARTS_A_WORKER = 8
_LANES_A_WORKER = 2
"""The most lanes that a run has for each worker."""
_LARGE_BYTES = 1 << 20
"""Smaller compressed files take less time than a thread."""
_MOST_THREADS = 4
"""Each holds up to two parts."""


def part_bytes_for(files: list[TableFile], workers: int, most_bytes: int | None = None) -> int:
    """The part size for a table: large enough to amortise the cost per part, small enough that every worker gets
    several parts and a crash loses little work, and at most `most_bytes`. Of a large table all workers get equally
    many parts."""
    total = sum(file.bytes for file in files)
    most = MOST_PART_BYTES if most_bytes is None else min(MOST_PART_BYTES, most_bytes)
    rounds = workers * PARTS_A_WORKER
    if total <= rounds * most:
        return min(max(total // rounds, PART_BYTES), most)
    rounds = workers * _LANES_A_WORKER
    return -(-total // (-(-total // (rounds * most)) * rounds))


def parts_of(
    files: list[TableFile], spec: TableSpec, part_bytes: int = PART_BYTES, guess: bool = False
) -> Iterator[Part]:
    """All parts of a table, numbered from 0 along its files. A file without rows yields one empty part, so that an
    empty table has columns too. With ``guess``, files that allow it are split without being read."""
    for seq, part in enumerate(_parts(files, spec, part_bytes, guess)):
        yield replace(part, seq=seq)


def _parts(files: list[TableFile], spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
    makes = [partial(format_of(file.path).parts, file, spec, part_bytes, guess) for file in files]
    large = [file for file in files if compression_of(file.path) and file.bytes >= _LARGE_BYTES]
    if len(large) > 1:
        # Their parts carry their bytes, which are decompressed here.
        return ahead(makes, min(cores(), _MOST_THREADS))
    return chain.from_iterable(make() for make in makes)


def cuts_hold(files: list[TableFile], spec: TableSpec, part_bytes: int) -> bool:
    """Whether the guessed parts of these files begin and end at record boundaries; reads the whole files."""
    return all(format_of(file.path).cuts_hold(file, spec, part_bytes) for file in files)


def read_part(part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer, *, late: bool = False) -> Block:
    """The part's rows, with at least these columns. With `late`, rows may be chosen before all columns are decoded."""
    form = format_named(part.form)
    return form.late_block(part, spec, columns, buffer) if late else form.block(part, spec, columns, buffer)


def read_indexed(part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> Block:
    """As `read_part`, for a reader that calls `Block.index`."""
    return format_named(part.form).indexed_block(part, spec, columns, buffer)


def read_lines(part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer, lines: Lines) -> Block:
    """The rows of these lines of a part that has an index."""
    return format_named(part.form).lines_block(part, spec, columns, buffer, lines)


def check_columns(file: TableFile, spec: TableSpec, columns: frozenset[str]) -> None:
    """Raises unless the file has every required column."""
    try:
        header = format_of(file.path).header(file, spec)
    except PermissionError:
        raise DataNotFound(f"no permission to read {file.path}; run `chmod u+r {file.path}`") from None
    if header is not None:
        check_header(file.name, header, spec, columns)
