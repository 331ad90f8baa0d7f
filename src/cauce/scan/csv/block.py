"""A part of a CSV file in memory."""

from __future__ import annotations

import re
from copy import copy

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.block import RAW_CHARACTERS, Block, Mask, Rows, record_rejects
from cauce.scan.cells.decode import Parsed, all_bad, parse, parse_located
from cauce.scan.cells.kinds import Kind
from cauce.scan.csv.gather import gather_bytes, gather_text, present
from cauce.scan.csv.located import Located, line_of, locate
from cauce.scan.csv.lookup import UNSURE, Numbers, TextSet
from cauce.scan.csv.short_text import gather_short_text
from cauce.scan.tables import TableSpec

_LINE_ENDS = re.compile(rb"(?:\r?\n)+\Z")


class CsvBlock(Block):
    """A range of a CSV file. The buffer has spare bytes after its end and must outlive the block."""

    def __init__(
        self,
        spec: TableSpec,
        file: str,
        header: tuple[str, ...],
        first_line: int,
        buffer: npt.NDArray[np.uint8],
        length: int,
        columns: frozenset[str],
        open_end: bool = False,
    ) -> None:
        self._buffer = buffer
        self._length = length
        self._first_line = first_line
        self._header = header
        names = [
            name
            for name in sorted(columns | set(spec.required))
            if spec.columns[name].header in header or not spec.missing_is_null
        ]
        places = [header.index(spec.columns[name].header) for name in names]
        unique = sorted(set(places))
        self._slot = {name: unique.index(place) for name, place in zip(names, places, strict=True)}
        self._located: Located = locate(
            buffer, length, delimiter=spec.delimiter, width=len(header), columns=unique, open_end=open_end,
            quote=spec.quote,
        )  # fmt: skip
        super().__init__(spec, file, self._located.rows)

    @property
    def whole(self) -> bool:
        return self._located.whole

    def subset(self, rows: Rows) -> CsvBlock:
        part = copy(self)
        part._located = self._located.only(rows)
        Block.__init__(part, self.spec, self.file, len(rows))
        return part

    def _parse(self, name: str) -> Parsed:
        kind: Kind = self.spec.columns[name].kind
        if name not in self._slot:
            return all_bad(kind, pl.Series([None], dtype=pl.String).new_from_index(0, self.height))
        at = self._slot[name]
        found = self._located
        start, length, escaped = found.start[at], found.length[at], found.escaped[at]
        # A doubled quote makes a number or a date invalid, but is part of the text of a list or of JSON.
        if kind.holds_quotes and escaped.any():
            data, offsets = gather_bytes(self._buffer, start, length, escaped, quote=self.spec.quote)
            parsed = parse(kind, data, offsets[:-1], np.diff(offsets).astype(np.int32))
        else:
            parsed = parse_located(kind, self._buffer, start, length)
        null = self._null_texts(name)
        if null is None or not null.any():
            return parsed
        return Parsed(parsed.values.set(pl.Series(null), None), parsed.bad & ~null)

    def _null_texts(self, name: str) -> Mask | None:
        """Which cells are texts that mark an empty one; None if the column has no such text."""
        texts = self.nulls(name)
        if not texts:
            return None
        at = self._slot[name]
        start, length = self._located.start[at], self._located.length[at]
        filled = present(self._buffer, start, length, null_text=texts[0].encode())
        for each in texts[1:]:
            filled &= present(self._buffer, start, length, null_text=each.encode())
        null: Mask = ~filled & (length > 0)
        return null

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        if name not in self._slot:
            return pl.Series([None], dtype=pl.String).new_from_index(0, self.height if rows is None else len(rows))
        at = self._slot[name]
        found = self._located
        texts = self.nulls(name)
        short = None
        if not texts:
            short = gather_short_text(self._buffer, found.start[at], found.length[at], found.escaped[at], rows)
        if short is not None:
            return short
        built = gather_text(
            self._buffer, found.start[at], found.length[at], found.escaped[at], rows,
            null_text=texts[0].encode() if texts else b"", quote=self.spec.quote,
        )  # fmt: skip
        return built.set(built.is_in(texts[1:]), None) if len(texts) > 1 else built

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        if name not in self._slot or self.nulls(name) or name in self._texts:
            return super().find(name, texts, rows)
        at = self._slot[name]
        located = self._located
        found = texts.probe(
            self._buffer, located.start[at], located.length[at], located.escaped[at], rows, self.spec.quote
        )
        unsure = np.flatnonzero(found == UNSURE)
        if len(unsure):
            found[unsure] = texts.numbers(self._text(name, unsure if rows is None else rows[unsure]))
        return found

    def _filled(self, name: str) -> Mask:
        if name not in self._slot:
            return np.zeros(self.height, np.bool_)
        null = self._null_texts(name)
        filled: Mask = self._located.length[self._slot[name]] > 0
        return filled if null is None else filled & ~null

    def _lines(self, rows: Rows) -> list[int]:
        lines: list[int] = line_of(self._buffer, self._located.record_start[rows], self._first_line).tolist()
        return lines

    def _raw(self, name: str, row: int, whole: bool) -> str:
        at = self._slot[name]
        start = int(self._located.start[at][row])
        end = start + int(self._located.length[at][row])
        cell = self._buffer[start:end].tobytes() if whole else self._bytes(start, end)
        mark = self.spec.quote.encode()
        return (cell.replace(mark + mark, mark) if self._located.escaped[at][row] else cell).decode("utf-8", "replace")

    def _bytes(self, start: int, end: int) -> bytes:
        """A prefix of these bytes, long enough for the raw text of a reject in any encoding."""
        return self._buffer[start : min(end, start + 8 * RAW_CHARACTERS)].tobytes()

    def _record_rejects(self) -> list[pl.DataFrame]:
        offsets, cells = self._located.fault_offset, self._located.fault_cells
        if not len(offsets):
            return []
        width = len(self._header)
        reasons = ["broken quoting" if n < 0 else f"expected {width} cells, found {n}" for n in cells.tolist()]
        starts = np.sort(np.concatenate([self._located.record_start, offsets]))
        ends = np.append(starts, self._length)[np.searchsorted(starts, offsets, side="right")]
        raws = [
            self._line(int(start)) if n < 0 else self._record(int(start), int(end))
            for start, end, n in zip(offsets, ends, cells, strict=True)
        ]
        lines = line_of(self._buffer, offsets, self._first_line).tolist()
        return record_rejects(self.file, lines, reasons, raws)

    def _line(self, start: int) -> str:
        head = self._bytes(start, self._length)
        line, ended, _ = head.partition(b"\n")
        text = line.removesuffix(b"\r") if ended else line
        return text.decode("utf-8", "replace")[:RAW_CHARACTERS]

    def _record(self, start: int, end: int) -> str:
        """The record's text without its line end and the empty lines before the next record."""
        head = self._bytes(start, end)
        whole = start + len(head) == end
        return (_LINE_ENDS.sub(b"", head) if whole else head).decode("utf-8", "replace")[:RAW_CHARACTERS]
