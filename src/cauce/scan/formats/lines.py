"""Formats in which every line of text is a record: cut at line ends, decoded line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from cauce.scan.block import RAW_CHARACTERS, Rows, record_rejects
from cauce.scan.cells.kinds import Kind
from cauce.scan.csv.cut import Range
from cauce.scan.csv.guess import UNKNOWN_LINE
from cauce.scan.files.file_bytes import bytes_of, check_unchanged, chunks_of, compression_of
from cauce.scan.formats.format import Format
from cauce.scan.formats.frame_block import FrameBlock
from cauce.scan.formats.upload_check import Measured, UploadCheck
from cauce.scan.parts import Buffer, Part, TableFile
from cauce.scan.tables import TableSpec

BOM = b"\xef\xbb\xbf"
_PROBE_BYTES = 2**16
_SPACE = b" \t\r\n"

Cells = Mapping[str, str | None]
"""The texts of a record's cells by the names of their columns."""


class LineFormat(Format):
    """Text with a record on each line that is not blank, and no header line."""

    compressible = True
    reason = "not a record"
    """Of a reject: a line that is not a record."""

    def cells(self, line: bytes, kinds: Mapping[str, Kind], spec: TableSpec) -> Cells | None:
        """The texts of these columns in a line without its line end; None if the line is not a record."""
        raise NotImplementedError

    def columns(self, lines: list[bytes], kinds: Mapping[str, Kind]) -> dict[str, pl.Series] | None:
        """The texts of these columns in all lines, if that is faster than line by line; otherwise, and if one of the
        lines is not a record, None."""
        return None

    def parts(self, file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
        if compression_of(file.path):
            ranges = _streamed(file, part_bytes)
        else:
            ranges = _probed(file, part_bytes) if guess else _counted(file, part_bytes)
        start = 0
        for each, taken in ranges:
            weight, start = taken - start, taken
            yield Part(
                0, file, (), each.first_line, each.start, each.end, data=each.data, weight=weight, form=self.name
            )

    def block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> LineBlock:
        held, length = bytes_of(part, buffer)
        text = held[:length].tobytes()
        return LineBlock(self, spec, part, text.removeprefix(BOM) if part.start == 0 else text, columns)

    def checked(self, part: Part, check: UploadCheck) -> Part:
        measured = check.measure(part)
        self.check_head(part, measured, check)
        return replace(part, first_line=part.first_line or 1, end=measured.size, unpacked_bytes=measured.size)

    def check_head(self, part: Part, measured: Measured, check: UploadCheck) -> None:
        """Raises if the first lines of an upload show that it lacks a column that is needed."""


class LineBlock(FrameBlock):
    """Rows from lines of text, numbered by line."""

    def __init__(self, form: LineFormat, spec: TableSpec, part: Part, text: bytes, columns: frozenset[str]) -> None:
        self._reason = form.reason
        self._faults: list[tuple[int, str]] = []
        kinds = {spec.columns[name].header: spec.columns[name].kind for name in columns | set(spec.required)}
        lines = text.split(b"\n")
        numbers = [number for number, line in enumerate(lines) if line.strip(_SPACE)]
        filled = lines if len(numbers) == len(lines) else [lines[number] for number in numbers]
        series = form.columns(filled, kinds)
        if series is None:
            numbered = [(part.first_line + number, lines[number].removesuffix(b"\r")) for number in numbers]
            numbers, series = self._by_line(form, numbered, kinds, spec)
        else:
            numbers = [part.first_line + number for number in numbers]
        self._line_numbers = np.array(numbers, np.int64)
        if not series:
            series = {"#row": pl.Series("#row", np.zeros(len(numbers), np.int8))}
        super().__init__(spec, part.file.name, part.first_line, series)

    def _by_line(
        self, form: LineFormat, numbered: list[tuple[int, bytes]], kinds: Mapping[str, Kind], spec: TableSpec
    ) -> tuple[list[int], dict[str, pl.Series]]:
        """The numbers of the lines that are records, and their cells."""
        cells: dict[str, list[str | None]] = {header: [] for header in kinds}
        numbers: list[int] = []
        for number, line in numbered:
            row = form.cells(line, kinds, spec)
            if row is None:
                self._faults.append((number, line.strip(_SPACE)[: 8 * RAW_CHARACTERS].decode("utf-8", "replace")))
                continue
            numbers.append(number)
            for header, held in cells.items():
                held.append(row[header])
        return numbers, {header: pl.Series(header, texts, dtype=pl.String) for header, texts in cells.items()}

    def _lines(self, rows: Rows) -> list[int]:
        lines: list[int] = self._line_numbers[rows].tolist()
        return lines

    def _record_rejects(self) -> list[pl.DataFrame]:
        lines = [line for line, _ in self._faults]
        return record_rejects(self.file, lines, [self._reason] * len(lines), [raw for _, raw in self._faults])


def _probed(file: TableFile, part_bytes: int) -> Iterator[tuple[Range, int]]:
    """Ranges of lines, found without reading the file: every line end is a boundary. Lines are not counted."""
    start = 0
    with open(file.path, "rb", buffering=0) as opened:
        while start < file.bytes or start == 0:
            end = _line_end(opened.fileno(), start + max(part_bytes, 1) - 1, file.bytes)
            yield Range(start, end, UNKNOWN_LINE), end
            if end >= file.bytes:
                break
            start = end
    check_unchanged(file)


def _line_end(descriptor: int, at: int, size: int) -> int:
    """The offset after the first line end at or after `at`; the size of the file if there is none."""
    while at < size:
        data = os.pread(descriptor, _PROBE_BYTES, at)
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        if not data:
            break
        at += len(data)
    return size


def _counted(file: TableFile, part_bytes: int) -> Iterator[tuple[Range, int]]:
    """Ranges of lines of a file, in one pass that counts the lines."""
    for each in _cut(chunks_of(file), part_bytes):
        yield replace(each, data=None), each.end
    check_unchanged(file)


def _streamed(file: TableFile, part_bytes: int) -> Iterator[tuple[Range, int]]:
    """Ranges of a compressed file with their bytes, and the compressed bytes read so far."""
    taken = [0]
    for each in _cut(chunks_of(file, taken), part_bytes):
        yield each, taken[0]


def _cut(chunks: Iterator[bytes], part_bytes: int) -> Iterator[Range]:
    """Ranges of at least `part_bytes`, each to the end of its last line; at least one."""
    held, start, line, most = bytearray(), 0, 1, max(part_bytes, 1)
    searched = most - 1
    for chunk in chunks:
        held += chunk
        while (end := held.find(b"\n", searched) + 1) > 0:
            yield Range(start, start + end, line, bytes(held[:end]))
            start, line = start + end, line + held.count(b"\n", 0, end)
            del held[:end]
            searched = most - 1
        searched = max(most - 1, len(held))
    if held or start == 0:
        yield Range(start, start + len(held), line, bytes(held))
