"""A part of a CSV file in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.block import RAW_CHARACTERS, Block, Mask, Rows, record_rejects
from cauce.scan.cells.cell_kernel import NULL
from cauce.scan.cells.decode import Parsed, all_bad, has_fixed_width, parse, parse_located, parsed_column
from cauce.scan.cells.kinds import Kind, Text
from cauce.scan.csv.gather import gather_bytes, gather_text, present
from cauce.scan.csv.located import Located, Scanner, line_of, locate
from cauce.scan.csv.lookup import UNSURE, Numbers, TextSet
from cauce.scan.csv.pieces import read_pieces
from cauce.scan.csv.short_text import gather_short_text
from cauce.scan.row_index import RowIndex
from cauce.scan.tables import TableSpec

_MOST_REMEMBERED = 1_000
_whole_texts: dict[tuple[str, str], None] = {}
"""Tables and columns whose texts were short, and were built for all rows of a part. In the next part, they are built
while its bytes are in the cache."""

_LINE_ENDS = re.compile(rb"(?:\r?\n)+\Z")


def _remember(table: str, column: str) -> None:
    _whole_texts[table, column] = None
    if len(_whole_texts) > _MOST_REMEMBERED:
        _whole_texts.pop(next(iter(_whole_texts)), None)


class Scanned(TypedDict):
    """The arguments of ``locate`` for a block."""

    buffer: npt.NDArray[np.uint8]
    length: int
    delimiter: str
    width: int
    columns: Sequence[int]
    open_end: bool
    quote: str


class CsvBlock(Block):
    """A range of a CSV file. The buffer has spare bytes after its end and must outlive the block. Typed columns are
    decoded while the range is scanned, unless the block is `late`. `with_starts` keeps where its rows begin."""

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
        late: bool = False,
        with_starts: bool = False,
    ) -> None:
        super().__init__(spec, file, 0)
        self._with_starts = with_starts
        self._buffer = buffer
        self._length = length
        self._first_line = first_line
        self._header = header
        self._open_end = open_end
        names = [
            name
            for name in sorted(columns | set(spec.required))
            if spec.columns[name].header in header or not spec.missing_is_null
        ]
        places = {name: header.index(spec.columns[name].header) for name in names}
        self._places = sorted(set(places.values()))
        self._slot = {name: self._places.index(place) for name, place in places.items()}
        # Every typed column is decoded in the end if all its cells are checked.
        typed = [name for name in names if name in columns and self._is_decoded_early(name) and not late]
        kept = sorted({self._slot[name] for name in names if name not in typed})
        self._read(typed, kept, [name for name in names if self._is_built_early(name)])

    def _is_decoded_early(self, name: str) -> bool:
        return has_fixed_width(self.spec.columns[name].kind) and not self.nulls(name)

    def _is_built_early(self, name: str) -> bool:
        is_text = isinstance(self.spec.columns[name].kind, Text)
        return is_text and (self.spec.name, name) in _whole_texts and not self.nulls(name)

    def _read(self, typed: list[str], kept: list[int], texts: list[str]) -> None:
        kinds = [(self._slot[name], self.spec.columns[name].kind) for name in typed]
        text_slots = [self._slot[name] for name in texts]
        scanner = Scanner(**self._scanned())
        pieces = read_pieces(
            scanner, self._buffer, self._length, len(self._places), kinds, kept, text_slots,
            with_starts=self._with_starts,
        )  # fmt: skip
        self.height = pieces.rows
        self._whole = pieces.whole
        self._faults = pieces.faults
        self._starts = pieces.starts
        self._decoded = dict(zip(typed, pieces.decoded, strict=True))
        self._cells = dict(zip(kept, pieces.located, strict=True))
        for name, short in zip(texts, pieces.texts, strict=True):
            if short is None:
                _whole_texts.pop((self.spec.name, name), None)
            else:
                self._texts[name] = short.series()

    def _scanned(self) -> Scanned:
        return {
            "buffer": self._buffer,
            "length": self._length,
            "delimiter": self.spec.delimiter,
            "width": len(self._header),
            "columns": self._places,
            "open_end": self._open_end,
            "quote": self.spec.quote,
        }

    @cached_property
    def _located(self) -> Located:
        """All cells and records again, for rejects."""
        return locate(**self._scanned())

    @property
    def whole(self) -> bool:
        return self._whole

    def index(self, column: str) -> RowIndex | None:
        # A line with a broken quote may be read differently beside other lines.
        return None if self._faults or not self._with_starts else RowIndex.of(self, self._starts, self._length, column)

    def subset(self, rows: Rows) -> CsvBlock | None:
        if self._decoded:
            return None
        part = copy(self)
        part._cells = {slot: cells.only(rows) for slot, cells in self._cells.items()}
        part._faults = 0
        Block.__init__(part, self.spec, self.file, len(rows))
        return part

    def _parse(self, name: str) -> Parsed:
        kind: Kind = self.spec.columns[name].kind
        if name not in self._slot:
            return all_bad(kind, pl.Series([None], dtype=pl.String).new_from_index(0, self.height))
        if name in self._decoded:
            return parsed_column(kind, *self._decoded[name])
        cells = self._cells[self._slot[name]]
        start, length, escaped = cells.start, cells.length, cells.escaped
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
        cells = self._cells[self._slot[name]]
        start, length = cells.start, cells.length
        filled = present(self._buffer, start, length, null_text=texts[0].encode())
        for each in texts[1:]:
            filled &= present(self._buffer, start, length, null_text=each.encode())
        null: Mask = ~filled & (length > 0)
        return null

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        if name not in self._slot:
            return pl.Series([None], dtype=pl.String).new_from_index(0, self.height if rows is None else len(rows))
        cells = self._cells[self._slot[name]]
        texts = self.nulls(name)
        short = None
        if not texts:
            short = gather_short_text(self._buffer, cells.start, cells.length, cells.escaped, rows)
        if short is not None:
            if rows is None:
                _remember(self.spec.name, name)
            return short
        built = gather_text(
            self._buffer, cells.start, cells.length, cells.escaped, rows,
            null_text=texts[0].encode() if texts else b"", quote=self.spec.quote,
        )  # fmt: skip
        return built.set(built.is_in(texts[1:]), None) if len(texts) > 1 else built

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        cells = self._cells.get(self._slot.get(name, -1))
        if cells is None or self.nulls(name) or name in self._texts:
            return super().find(name, texts, rows)
        found = texts.probe(self._buffer, cells.start, cells.length, cells.escaped, rows, self.spec.quote)
        unsure = np.flatnonzero(found == UNSURE)
        if len(unsure):
            found[unsure] = texts.numbers(self._text(name, unsure if rows is None else rows[unsure]))
        return found

    def _filled(self, name: str) -> Mask:
        if name not in self._slot:
            return np.zeros(self.height, np.bool_)
        if name in self._decoded:
            decoded: Mask = self._decoded[name][1] != NULL
            return decoded
        null = self._null_texts(name)
        filled: Mask = self._cells[self._slot[name]].length > 0
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
        if not self._faults:
            return []
        offsets, cells = self._located.fault_offset, self._located.fault_cells
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
