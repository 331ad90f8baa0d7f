"""Reads bounded samples of files: the head, and pieces from the middle and the end of files that have byte ranges."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass

from cauce.errors import WrongSplit
from cauce.scan.csv.guess import boundary
from cauce.scan.csv.located import delimiter_byte, quote_byte
from cauce.scan.files.file_bytes import chunks_of, compression_of
from cauce.scan.parts import TableFile
from cauce.schema.dialect import Dialect, lines_within

TABLE_BYTES = 8 * 2**20
"""Sampled of a table; more of many files, since of each there is a little."""
LEAST_FILE_BYTES = 64 * 2**10
MOST_FILES = 256
PIECES = 8


@dataclass(frozen=True)
class Sample:
    """Pieces of a file's text, each of whole lines; the first is its head."""

    pieces: tuple[bytes, ...]
    whole: bool
    """Whether it is all of the file."""

    @property
    def bytes(self) -> int:
        return sum(map(len, self.pieces))


def file_budget(files: int) -> int:
    """The bytes to sample of each of `files` files."""
    return max(TABLE_BYTES // max(files, 1), LEAST_FILE_BYTES)


def chosen(files: tuple[TableFile, ...]) -> list[TableFile]:
    """The files to sample: all, or as many as allowed, spread over the list."""
    count = min(len(files), MOST_FILES)
    return [files[number * len(files) // count] for number in range(count)]


def head_of(file: TableFile, size: int) -> tuple[bytes, bool]:
    """The first whole lines of a file, decompressed, and whether they are all of it."""
    head = bytearray()
    for chunk in chunks_of(file):
        head += chunk
        if len(head) > size:
            break
    whole = len(head) <= size
    return lines_within(bytes(head if whole else head[:size]), whole), whole


def sample_of(file: TableFile, budget: int, dialect: Dialect | None = None) -> Sample:
    """A sample of a text file. With a dialect, pieces begin at records of CSV; otherwise at lines."""
    if compression_of(file.path) or file.bytes <= budget:
        head, whole = head_of(file, budget)
        return Sample((head,), whole)
    size = budget // PIECES
    head, _ = head_of(file, size)
    with open(file.path, "rb", buffering=0) as opened:
        others = tuple(_pieces(opened, file.bytes, size, dialect))
    return Sample((head, *others), whole=False)


def _pieces(file: io.FileIO, file_bytes: int, size: int, dialect: Dialect | None) -> Iterator[bytes]:
    """Pieces at even distances; the last one ends with the file."""
    for number in range(1, PIECES):
        target = (file_bytes - size) * number // (PIECES - 1)
        try:
            start = _start(file, target, file_bytes, dialect)
        except WrongSplit:
            continue
        data = os.pread(file.fileno(), size, start)
        yield lines_within(data, start + len(data) >= file_bytes)


def _start(file: io.FileIO, target: int, file_bytes: int, dialect: Dialect | None) -> int:
    if dialect is not None and dialect.width > 1:
        marks = delimiter_byte(dialect.delimiter), quote_byte(dialect.quote)
        return boundary(file, target, file_bytes, marks, dialect.width)
    data = os.pread(file.fileno(), LEAST_FILE_BYTES, target - 1)
    return target + data.find(b"\n")
