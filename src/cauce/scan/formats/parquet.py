"""Parquet. Row groups may have any size: small ones are read together, large ones in slices of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

from cauce.api import http
from cauce.errors import JobFailed, WrongColumns
from cauce.scan.formats.format import Format
from cauce.scan.formats.frame_block import FrameBlock, block_of_table
from cauce.scan.formats.parquet_cursor import read_slice
from cauce.scan.formats.parquet_pages import read_pages
from cauce.scan.formats.upload_check import UploadCheck
from cauce.scan.headers import headers_in
from cauce.scan.parts import Buffer, Part, TableFile
from cauce.scan.tables import TableSpec

FIRST_LINE = 2
"""The "line" of the first row, as if a header stood before it."""

LARGE_ROW_GROUP_BYTES = 256 * 2**20
"""A row group that decodes to more than this is read in slices of rows; also one of more than two parts, unless it is
below the following size."""
SMALL_ROW_GROUP_BYTES = 16 * 2**20
SLICE_BYTES = 32 * 2**20
"""A slice decodes to as much as two parts if that is not above this size, else to as much as a part: the pages at both
of its ends are decoded for it and for its neighbour, and larger ones are no faster."""


class Parquet(Format):
    """A Parquet file, of which a part is a range of rows; or an upload that is a whole Parquet file."""

    name = "parquet"
    endings = (".parquet",)
    media_type = http.PARQUET

    def header(self, file: TableFile, spec: TableSpec) -> tuple[str, ...]:
        try:
            return tuple(_parquet().read_schema(file.path).names)
        except PermissionError:
            raise
        except (pa.ArrowInvalid, OSError) as problem:
            raise WrongColumns(
                f"{file.name} cannot be read as Parquet: {problem}; copy or write the file again"
            ) from problem

    def parts(self, file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
        meta = _parquet().read_metadata(file.path)
        taken = 0
        for start, end in _row_ranges(meta, part_bytes):
            weight = file.bytes * end // max(meta.num_rows, 1) - taken
            taken += weight
            yield Part(0, file, (), FIRST_LINE + start, start, end, weight=weight, form=self.name)

    def block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> FrameBlock:
        if part.data is not None:
            with open_upload(part.data) as file:
                table = file.read(columns=headers_in(file.schema_arrow.names, spec, columns), use_threads=False)
        else:
            with _parquet().ParquetFile(part.file.path) as file:
                headers = headers_in(file.schema_arrow.names, spec, columns)
                groups = _whole_groups(file.metadata, part.start, part.end)
                if groups == []:
                    table = file.schema_arrow.empty_table().select(headers)
                elif groups is not None:
                    table = file.read_row_groups(groups, columns=headers, use_threads=False)
                else:
                    table = _read_rows(part.file.path, headers, part.start, part.end)
        return block_of_table(table, spec, part.file.name, part.first_line)

    def checked(self, part: Part, check: UploadCheck) -> Part:
        from cauce.scan.formats.columnar_validation import check_parquet

        data = part.data or b""
        check.header(part.file.name, check_parquet(data, check.needed, check.bounds))
        return replace(part, first_line=part.first_line or FIRST_LINE, unpacked_bytes=len(data))

    def batches(self, file: TableFile, part_bytes: int) -> Iterator[tuple[pa.Table, int]]:
        try:
            with _parquet().ParquetFile(file.path) as opened:
                yield from _batches(opened, part_bytes, file.bytes)
        except pa.ArrowException as problem:
            raise JobFailed(f"{file.name} cannot be read as Parquet: {problem}") from problem


def open_upload(data: bytes, read_dictionary: list[int] | None = None) -> Any:
    """Opens uploaded Parquet. Validation and reading both use this function, so they cannot disagree."""
    limits = {"thrift_string_size_limit": 2**20, "thrift_container_size_limit": 100_000}
    return _parquet().ParquetFile(io.BytesIO(data), read_dictionary=read_dictionary, pre_buffer=False, **limits)


def _row_ranges(meta: Any, part_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about `part_bytes` after decoding: whole row groups, or slices of a large one."""
    large = min(LARGE_ROW_GROUP_BYTES, max(2 * part_bytes, SMALL_ROW_GROUP_BYTES))
    start = end = size = 0
    for group in range(meta.num_row_groups):
        shape = meta.row_group(group)
        if end > start and size + shape.total_byte_size > part_bytes:
            yield start, end
            start, size = end, 0
        end, size = end + shape.num_rows, size + shape.total_byte_size
        if shape.total_byte_size > large and start == end - shape.num_rows:
            yield from _slices(start, end, -(-shape.total_byte_size // _slice_bytes(large, part_bytes)))
            start, size = end, 0
    if end > start or end == 0:
        yield start, end


def _slice_bytes(large: int, part_bytes: int) -> int:
    if 2 * part_bytes < SMALL_ROW_GROUP_BYTES:
        return large // 2
    return min(large, max(large // 2, SLICE_BYTES))


def _slices(start: int, end: int, count: int) -> Iterator[tuple[int, int]]:
    bounds = [start + (end - start) * each // count for each in range(count + 1)]
    yield from ((first, last) for first, last in pairwise(bounds) if last > first)


def _whole_groups(meta: Any, start: int, end: int) -> list[int] | None:
    """The row groups that consist of these rows; None if a row group also has other rows."""
    groups: list[int] = []
    first = 0
    for group in range(meta.num_row_groups):
        rows = meta.row_group(group).num_rows
        if first < end and first + rows > start:
            if first < start or first + rows > end:
                return None
            groups.append(group)
        first += rows
    return groups


def _read_rows(path: str, headers: list[str], start: int, end: int) -> pa.Table:
    """Some rows of a row group: their pages if possible, else all rows up to them."""
    table = read_pages(path, headers, start, end)
    return read_slice(path, headers, start, end) if table is None else table


def _batches(opened: Any, part_bytes: int, file_bytes: int) -> Iterator[tuple[pa.Table, int]]:
    meta = opened.metadata
    if meta.num_rows == 0:
        yield opened.schema_arrow.empty_table(), file_bytes
    for group in range(meta.num_row_groups):
        shape = meta.row_group(group)
        if shape.num_rows == 0:
            continue
        rows = max(1, shape.num_rows * part_bytes // max(shape.total_byte_size, 1))
        for batch in opened.iter_batches(batch_size=min(rows, 2**20), row_groups=[group]):
            yield pa.Table.from_batches([batch]), file_bytes * batch.num_rows // meta.num_rows


def _parquet() -> Any:
    # Imported lazily: most processes do not need it.
    import pyarrow.parquet

    return pyarrow.parquet
