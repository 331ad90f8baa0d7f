"""CSV, and text that differs from it by its delimiter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypedDict

from cauce.api import http
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.cut import Header, Range, begins_record, cut_ranges, cut_stream, read_header
from cauce.scan.csv.gather import gather_lines
from cauce.scan.csv.guess import guess_ranges
from cauce.scan.files.file_bytes import bytes_of, check_unchanged, chunks_of, compression_of
from cauce.scan.formats.format import Format
from cauce.scan.formats.upload_check import HEAD_BYTES, Measured, UploadCheck
from cauce.scan.parts import Buffer, Part, TableFile
from cauce.scan.row_index import Lines
from cauce.scan.tables import TableSpec


class _Dialect(TypedDict):
    delimiter: str
    quote: str
    named: bool


class Csv(Format):
    """Text with a delimiter that the table declares, and a header line."""

    name = "csv"
    endings = (".csv",)
    media_type = http.CSV
    compressible = True
    has_header_line = True

    def delimiter(self, spec: TableSpec) -> str:
        return spec.delimiter

    def _dialect(self, spec: TableSpec) -> _Dialect:
        return {"delimiter": self.delimiter(spec), "quote": spec.quote, "named": spec.header}

    def _read_header(self, source: str | bytes, spec: TableSpec) -> Header:
        return read_header(source, self.delimiter(spec), quote=spec.quote, named=spec.header)

    def header(self, file: TableFile, spec: TableSpec) -> tuple[str, ...]:
        if not compression_of(file.path):
            return self._read_header(file.path, spec).cells
        first = next(cut_stream(chunks_of(file), part_bytes=1, name=file.name, **self._dialect(spec)))
        assert isinstance(first, Header)
        return first.cells

    def header_line(self, cells: tuple[str, ...], spec: TableSpec) -> bytes:
        mark = spec.quote
        line = self.delimiter(spec).join(mark + cell.replace(mark, mark + mark) + mark for cell in cells)
        return f"{line}\n".encode()

    def parts(self, file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
        if compression_of(file.path):
            return self._streamed(file, spec, part_bytes)
        return self._ranges(file, spec, part_bytes, guess)

    def _ranges(self, file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
        header = self._read_header(file.path, spec)
        empty = True
        # Any line may be a record of one cell.
        if guess and len(header.cells) > 1:
            delimiter, quote = self.delimiter(spec), spec.quote
            ranges = guess_ranges(file.path, header, delimiter=delimiter, part_bytes=part_bytes, quote=quote)
        else:
            ranges = cut_ranges(file.path, part_bytes=part_bytes, **self._dialect(spec))
        for each in ranges:
            yield self._part(file, header, each, each.end - (0 if empty else each.start))
            empty = False
        check_unchanged(file)
        if empty:
            yield self._part(file, header, Range(header.end, header.end, header.lines + 1), 0)

    def _streamed(self, file: TableFile, spec: TableSpec, part_bytes: int) -> Iterator[Part]:
        """Parts of a compressed file. They carry their bytes, because such a file has no seekable ranges."""
        taken = [0]
        header = Header((), 0, 0)
        empty = True
        chunks = chunks_of(file, taken)
        for each in cut_stream(chunks, part_bytes=part_bytes, name=file.name, **self._dialect(spec)):
            if isinstance(each, Header):
                header = each
                continue
            weight, taken[0] = taken[0], 0
            yield self._part(file, header, each, weight)
            empty = False
        if empty:
            yield self._part(file, header, Range(header.end, header.end, header.lines + 1, b""), 0)

    def _part(self, file: TableFile, header: Header, cut: Range, weight: int) -> Part:
        return Part(
            0, file, header.cells, cut.first_line, cut.start, cut.end, data=cut.data, weight=weight, form=self.name
        )

    def cuts_hold(self, file: TableFile, spec: TableSpec, part_bytes: int) -> bool:
        ends = [part.end for part in self.parts(file, spec, part_bytes, guess=True) if part.guessed]
        return begins_record(file.path, places=ends, **self._dialect(spec)) if ends else True

    def block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> CsvBlock:
        return self._block(part, spec, columns, buffer)

    def late_block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> CsvBlock:
        return self._block(part, spec, columns, buffer, late=True)

    def indexed_block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> CsvBlock:
        # Other parts must be unpacked as a whole before a line of them can be read.
        return self._block(part, spec, columns, buffer, with_starts=part.data is None)

    def _block(
        self,
        part: Part,
        spec: TableSpec,
        columns: frozenset[str],
        buffer: Buffer,
        *,
        late: bool = False,
        with_starts: bool = False,
    ) -> CsvBlock:
        held, length = bytes_of(part, buffer)
        open_end = part.guessed and part.end < part.file.bytes
        return CsvBlock(
            replace(spec, delimiter=self.delimiter(spec)),
            part.file.name, part.header, part.first_line, held, length, columns, open_end, late, with_starts,
        )  # fmt: skip

    def lines_block(
        self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer, lines: Lines
    ) -> CsvBlock:
        held, _ = bytes_of(part, buffer)
        data, length = gather_lines(held, lines.start, lines.length)
        spec = replace(spec, delimiter=self.delimiter(spec))
        return CsvBlock(spec, part.file.name, part.header, part.first_line, data, length, columns)

    def checked(self, part: Part, check: UploadCheck) -> Part:
        measured = check.measure(part)
        header = Header(part.header, 0, 1) if part.header else self._first_line(measured, check.spec)
        check.header(part.file.name, header.cells)
        return replace(
            part,
            header=header.cells,
            first_line=part.first_line or header.lines + 1,
            start=header.end,
            end=measured.size,
            skip=header.end,
            unpacked_bytes=measured.size,
        )

    def _first_line(self, measured: Measured, spec: TableSpec) -> Header:
        header = self._read_header(measured.head, spec)
        if header.end == len(measured.head) and not measured.whole:
            raise ValueError(f"has a first line, which names the columns, of more than {HEAD_BYTES} bytes")
        return header


class Tsv(Csv):
    """Text with tabs between its cells; otherwise as CSV."""

    name = "tsv"
    endings = (".tsv",)
    media_type = "text/tab-separated-values"

    def delimiter(self, spec: TableSpec) -> str:
        return "\t"
