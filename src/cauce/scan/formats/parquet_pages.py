"""Rows of a large row group, of which only the pages that hold them are decoded, so that workers can share it.

The pages of a column are numbered by their headers. Those of some rows, and the dictionary, are read as a small file of
their own, with a footer that describes them as the whole column. Only for columns that are neither lists nor within
structs: there each value is a row.
"""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cauce.scan.formats.parquet_cursor import group_of, identity_of
from cauce.scan.formats.parquet_metadata import Edit, Page, ThriftReader, list_of_structs, page_header, zigzag

_MAGIC = b"PAR1"
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADER_BYTES, _MOST_HEADER_BYTES = 1 << 9, 1 << 22
"""Read at once to find a page header, which may hold long texts; and the most."""
_MOST_FOOTERS = 1 << 12
"""The most chunks of a row group times columns: the footer is written for each column."""
_MOST_DECODES = 2.0
"""How often values are decoded by all workers if pages are larger than the slices. The cursor does it once in each
worker, of which there are two or more."""

_MARK_BYTES = 16
"""Of a random text that no footer contains."""

Rewrite = Mapping[int, Edit]


@dataclass(frozen=True)
class _Column:
    """The pages of a column in a row group. Data page `n` starts at `offsets[n]` of the file, and with row `rows[n]` of
    the group; both lists have one more entry, the end. The dictionary is the bytes from `start` to `offsets[0]`."""

    start: int
    offsets: list[int]
    rows: list[int]
    size: int
    """All pages, not compressed."""
    footer: _Footer

    def decodes(self, rows: int) -> float:
        """How often a value is decoded if slices of so many rows are."""
        pages = len(self.offsets) - 1
        return 1 + self.rows[-1] / pages / rows


class PageIndex:
    """The pages of some columns of one row group of a file. Raises ValueError if they cannot be read by themselves."""

    def __init__(self, path: str, headers: Sequence[str], row: int) -> None:
        import pyarrow.parquet

        self.identity = identity_of(path, headers)
        self._path = path
        with pyarrow.parquet.ParquetFile(path) as file, open(path, "rb", buffering=0) as source:
            meta = file.metadata
            group, self.first = group_of(meta, row)
            self.end = self.first + meta.row_group(group).num_rows
            numbers = _flat_columns(file.schema, headers)
            footer = _only_group(_footer(source.fileno()), group)
            self.columns = [
                _column(source.fileno(), meta.row_group(group), number, _Footer(footer, number)) for number in numbers
            ]
        self._headers = list(headers)

    def is_worth(self, rows: int) -> bool:
        """Whether slices of so many rows are decoded with less work than all rows by each worker."""
        size = sum(each.size for each in self.columns)
        return sum(each.size * each.decodes(rows) for each in self.columns) <= _MOST_DECODES * size

    def read(self, start: int, end: int) -> pa.Table:
        fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _side_by_side(list(self._read_columns(fd, start - self.first, end - self.first)))
        finally:
            os.close(fd)

    def _read_columns(self, fd: int, start: int, end: int) -> Iterator[pa.Table]:
        import pyarrow.parquet

        for header, column in zip(self._headers, self.columns, strict=True):
            low, high = bisect_right(column.rows, start) - 1, bisect_right(column.rows, end - 1)
            found = pa.BufferReader(_file(fd, column, low, high))
            table = pyarrow.parquet.ParquetFile(found).read(columns=[header], use_threads=False)
            yield table.slice(start - column.rows[low], end - start)


def _file(fd: int, column: _Column, low: int, high: int) -> bytes:
    """A file of the dictionary and of some data pages."""
    dictionary = _read(fd, column.start, column.offsets[0] - column.start)
    pages = _read(fd, column.offsets[low], column.offsets[high] - column.offsets[low])
    footer = column.footer.of(column.rows[high] - column.rows[low], len(dictionary), len(pages))
    return b"".join((_MAGIC, dictionary, pages, footer, len(footer).to_bytes(4, "little"), _MAGIC))


def _side_by_side(tables: Sequence[pa.Table]) -> pa.Table:
    schema = pa.schema([table.schema.field(0) for table in tables])
    return pa.Table.from_arrays([table.column(0) for table in tables], schema=schema)


def _flat_columns(schema: Any, headers: Sequence[str]) -> list[int]:
    """The numbers of the columns with these names."""
    count = len(schema)
    if not headers or len(headers) * count > _MOST_FOOTERS:
        raise ValueError("has too many columns")
    paths = [schema.column(number).path for number in range(count)]
    numbers = [paths.index(header) for header in headers]
    if any(schema.column(number).max_repetition_level or paths.count(paths[number]) > 1 for number in numbers):
        raise ValueError("has lists")
    return numbers


def _column(fd: int, group: Any, number: int, footer: _Footer) -> _Column:
    chunk = group.column(number)
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset and chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    offsets, rows, size = [], [0], 0
    at = start
    while rows[-1] < group.num_rows:
        page = _page_at(fd, at)
        size += page.size
        if page.kind in (_DATA, _DATA_2):
            offsets.append(at)
            rows.append(rows[-1] + page.values)
        elif page.kind != _DICTIONARY or offsets:
            raise ValueError("has pages of an unknown kind")
        at += page.end + page.compressed
    if rows[-1] != group.num_rows or at > start + chunk.total_compressed_size:
        raise ValueError("has pages that differ from its footer")
    return _Column(start, [*offsets, at], rows, size, footer)


def _page_at(fd: int, at: int) -> Page:
    size = _HEADER_BYTES
    while True:
        head = os.pread(fd, size, at)
        try:
            page = page_header(memoryview(head), 0, len(head))
        except ValueError:
            if len(head) < size or size >= _MOST_HEADER_BYTES:
                raise
            size *= 8
        else:
            if page.compressed < 0 or page.values < 0:
                raise ValueError("has a page of a negative size")
            return page


def _read(fd: int, at: int, size: int) -> bytes:
    found = os.pread(fd, size, at)
    if len(found) < size:
        raise ValueError("has fewer bytes than its footer says")
    return found


# The footer. Fields are numbered as in the definition of the format, `parquet.thrift`.


def _footer(fd: int) -> bytes:
    end = os.fstat(fd).st_size - 8
    size = int.from_bytes(_read(fd, end, 4), "little")
    return _read(fd, end - size, size)


def _only_group(footer: bytes, number: int) -> bytes:
    """The footer with one of its row groups only."""

    def groups(reader: ThriftReader) -> bytes:
        found = [reader.rewritten({}) for _ in range(reader.list_head())]
        return list_of_structs([found[number]])

    return _rewritten(footer, {4: groups})


class _Footer:
    """The footer of files that have only some pages of one column. It is rewritten once; a file fills in its sizes."""

    def __init__(self, footer: bytes, number: int) -> None:
        marks = [os.urandom(_MARK_BYTES) for _ in range(4)]
        both = [_with_chunk(footer, number, marks, has_dictionary) for has_dictionary in (False, True)]
        by_mark = re.compile(b"|".join(map(re.escape, marks)))
        self._texts = [by_mark.split(each) for each in both]
        self._fields = [[marks.index(mark) for mark in by_mark.findall(each)] for each in both]

    def of(self, rows: int, dictionary_bytes: int, page_bytes: int) -> bytes:
        """The footer of a file whose dictionary, if any, and pages follow its first bytes."""
        first = len(_MAGIC)
        sizes = (rows, dictionary_bytes + page_bytes, first + dictionary_bytes, first)
        values = [zigzag(each) for each in sizes]
        texts, fields = self._texts[dictionary_bytes > 0], self._fields[dictionary_bytes > 0]
        filled = (text + values[field] for text, field in zip(texts, fields, strict=False))
        return b"".join((*filled, texts[-1]))


def _with_chunk(footer: bytes, number: int, marks: Sequence[bytes], has_dictionary: bool) -> bytes:
    """The footer with one column chunk at other places. The marks stand for its rows, its bytes, and the offsets of its
    pages and its dictionary."""
    rows, size, pages, dictionary = marks
    # Without statistics, filters and indexes, which are those of all pages.
    omitted: Rewrite = dict.fromkeys((10, 12, 14, 15, 16))
    meta: Rewrite = {**omitted, 5: rows, 6: size, 7: size, 9: pages, 11: dictionary if has_dictionary else None}
    chunk: Rewrite = {2: zigzag(0), 3: lambda reader: reader.rewritten(meta), **dict.fromkeys((4, 5, 6, 7))}

    def columns(reader: ThriftReader) -> bytes:
        count = reader.list_head()
        return list_of_structs([reader.rewritten(chunk if each == number else {}) for each in range(count)])

    def groups(reader: ThriftReader) -> bytes:
        reader.list_head()
        return list_of_structs([reader.rewritten({1: columns, 3: rows, 5: None, 6: None})])

    return _rewritten(footer, {3: rows, 4: groups})


def _rewritten(footer: bytes, edits: Rewrite) -> bytes:
    return ThriftReader(memoryview(footer), 0, len(footer)).rewritten(edits)


class _Kept(threading.local):
    """The index that was used last, and the last file and columns that have none."""

    index: PageIndex | None = None
    without: tuple[object, ...] = ()


_kept = _Kept()


def read_pages(path: str, headers: Sequence[str], start: int, end: int) -> pa.Table | None:
    """The rows from `start` to before `end`; None if they cannot be read without all rows before them."""
    identity = identity_of(path, headers)
    if _kept.without == identity:
        return None
    try:
        index = _kept.index
        if index is None or index.identity != identity or not index.first <= start < index.end:
            index = _kept.index = PageIndex(path, headers, start)
        return index.read(start, end) if end <= index.end and index.is_worth(end - start) else None
    except (ValueError, OSError):
        # The reader of all rows reports the error, if it is one.
        _kept.without = identity
        return None
