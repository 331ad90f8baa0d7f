"""A part of a table in memory: its cells located, its typed columns checked, its texts built when asked for.

Whether a cell can be read is decided for every row, so that the rejects do not depend on what a query filters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.cells import Parsed, parse, parse_series
from cauce.scan.diagnosis import reasons
from cauce.scan.gather import gather_bytes, gather_text, present
from cauce.scan.json_cells import encoded
from cauce.scan.kinds import Json, Kind, Text
from cauce.scan.located import Located, line_of, locate
from cauce.scan.lookup import UNSURE, Numbers, TextSet
from cauce.scan.tables import Column, TableSpec

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RAW_CHARACTERS = 500
REJECT_SCHEMA = {
    "file": pl.String,
    "line": pl.Int64,
    "column": pl.String,
    "reason": pl.String,
    "raw": pl.String,
}
_LINE_ENDS = re.compile(rb"(?:\r?\n)+\Z")


class Block:
    """What every block has: columns by name, rows that take part, rejects."""

    def __init__(self, spec: TableSpec, file: str, height: int) -> None:
        self.spec = spec
        self.file = file
        self.height = height
        self._parsed: dict[str, Parsed] = {}
        self._texts: dict[str, pl.Series] = {}
        self._usable: dict[frozenset[str], Rows | None] = {}
        self._present: Mask | None = None

    @property
    def whole(self) -> bool:
        """Whether the block ends where a record of its file does."""
        return True

    def column(self, name: str, rows: Rows | None) -> pl.Series:
        """A column for these rows (None: all). Text is built here, for no more rows than asked."""
        if not isinstance(self.spec.columns[name].kind, Text):
            values = self.parsed(name).values
            return values if rows is None else values[rows]
        if name in self._texts:
            return self._texts[name] if rows is None else self._texts[name][rows]
        built = self._text(name, rows)
        if rows is None:
            self._texts[name] = built
        return built

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        """The number among the texts of what each of these rows has in a text column; 0 where it is none of them."""
        return texts.numbers(self.column(name, rows))

    def filled(self, name: str, rows: Rows | None) -> Mask | None:
        """Which of these rows have a text in a text column."""
        if not isinstance(self.spec.columns[name].kind, Text):
            return None
        filled = self._filled(name)
        return filled if rows is None else filled[rows]

    def parsed(self, name: str) -> Parsed:
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def usable(self, used: frozenset[str]) -> Rows | None:
        """Rows without an empty required cell or an unreadable cell in a used column (None: all rows)."""
        typed = frozenset(name for name in used if not isinstance(self.spec.columns[name].kind, Text))
        spoiled = frozenset(name for name in typed if self.parsed(name).bad.any())
        if spoiled not in self._usable:
            good = self._required().copy()
            for name in spoiled:
                good &= ~self.parsed(name).bad
            self._usable[spoiled] = None if good.all() else np.flatnonzero(good)
        return self._usable[spoiled]

    def rejects(self, columns: frozenset[str]) -> pl.DataFrame:
        """Records that could not be cut, and unreadable cells of these columns, by line and column."""
        found = [*self._record_rejects()]
        for name in sorted(columns, key=lambda each: (self.spec.columns[each].again, each)):
            column = self.spec.columns[name]
            if isinstance(column.kind, Text):
                continue
            bad = np.flatnonzero(self.parsed(name).bad)
            if len(bad):
                found.append(self._cell_rejects(name, column, bad))
        if not found:
            return pl.DataFrame(schema=REJECT_SCHEMA)
        # A cell that several columns read is reported once, by the first of them.
        once = pl.concat(found).unique(["line", "column"], keep="first", maintain_order=True)
        return once.sort("line", "column", nulls_last=True)

    def _required(self) -> Mask:
        if self._present is None:
            self._present = np.ones(self.height, dtype=np.bool_)
            for name in self.spec.required:
                self._present &= self._filled(name)
        return self._present

    def _cell_rejects(self, name: str, column: Column, bad: Rows) -> pl.DataFrame:
        # A path into JSON is only found in the whole cell.
        whole = isinstance(column.kind, Json)
        raws = [self._raw(name, int(row), whole) for row in bad]
        return pl.DataFrame(
            {
                "file": [self.file] * len(bad),
                "line": self._lines(bad),
                "column": [column.header] * len(bad),
                "reason": reasons(column.kind, raws),
                "raw": [raw[:RAW_CHARACTERS] for raw in raws],
            },
            schema=REJECT_SCHEMA,
        )

    # What depends on where the cells lie.

    def _parse(self, name: str) -> Parsed:
        raise NotImplementedError

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        raise NotImplementedError

    def _filled(self, name: str) -> Mask:
        raise NotImplementedError

    def _lines(self, rows: Rows) -> list[int]:
        raise NotImplementedError

    def _raw(self, name: str, row: int, whole: bool) -> str:
        """A cell as text, at least so much of it as a reject shows."""
        raise NotImplementedError

    def _record_rejects(self) -> list[pl.DataFrame]:
        return []


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
        self._null = (spec.null or "").encode()
        names = sorted(columns | set(spec.required))
        places = [header.index(spec.columns[name].header) for name in names]
        unique = sorted(set(places))
        self._slot = {name: unique.index(place) for name, place in zip(names, places, strict=True)}
        self._located: Located = locate(
            buffer, length, delimiter=spec.delimiter, width=len(header), columns=unique, open_end=open_end
        )
        super().__init__(spec, file, self._located.rows)

    @property
    def whole(self) -> bool:
        return self._located.whole

    def _parse(self, name: str) -> Parsed:
        at = self._slot[name]
        found = self._located
        kind: Kind = self.spec.columns[name].kind
        start, length, escaped = found.start[at], found.length[at], found.escaped[at]
        # A doubled quote spoils a number or a date as it stands, but is part of the text of a list or of JSON.
        if self._null or (kind.holds_quotes and escaped.any()):
            data, offsets = gather_bytes(self._buffer, start, length, escaped, null_text=self._null)
            return parse(kind, data, offsets[:-1], np.diff(offsets).astype(np.int32))
        return parse(kind, self._buffer, start, length)

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        at = self._slot[name]
        found = self._located
        return gather_text(
            self._buffer, found.start[at], found.length[at], found.escaped[at], rows, null_text=self._null
        )

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        if self._null or name in self._texts:
            return super().find(name, texts, rows)
        at = self._slot[name]
        located = self._located
        found = texts.probe(self._buffer, located.start[at], located.length[at], located.escaped[at], rows)
        unsure = np.flatnonzero(found == UNSURE)
        if len(unsure):
            found[unsure] = texts.numbers(self._text(name, unsure if rows is None else rows[unsure]))
        return found

    def _filled(self, name: str) -> Mask:
        at = self._slot[name]
        return present(self._buffer, self._located.start[at], self._located.length[at], null_text=self._null)

    def _lines(self, rows: Rows) -> list[int]:
        lines: list[int] = line_of(self._buffer, self._located.record_start[rows], self._first_line).tolist()
        return lines

    def _raw(self, name: str, row: int, whole: bool) -> str:
        at = self._slot[name]
        start = int(self._located.start[at][row])
        end = start + int(self._located.length[at][row])
        cell = self._buffer[start:end].tobytes() if whole else self._bytes(start, end)
        return (cell.replace(b'""', b'"') if self._located.escaped[at][row] else cell).decode("utf-8", "replace")

    def _bytes(self, start: int, end: int) -> bytes:
        """Enough of these bytes for the raw text of a reject, however they decode."""
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
        frame = {
            "file": [self.file] * len(raws),
            "line": lines,
            "column": [None] * len(raws),
            "reason": reasons,
            "raw": raws,
        }
        return [pl.DataFrame(frame, schema=REJECT_SCHEMA)]

    def _line(self, start: int) -> str:
        head = self._bytes(start, self._length)
        line, ended, _ = head.partition(b"\n")
        text = line.removesuffix(b"\r") if ended else line
        return text.decode("utf-8", "replace")[:RAW_CHARACTERS]

    def _record(self, start: int, end: int) -> str:
        """The record's text without its line end (nor the empty lines before the next record)."""
        head = self._bytes(start, end)
        whole = start + len(head) == end
        return (_LINE_ENDS.sub(b"", head) if whole else head).decode("utf-8", "replace")[:RAW_CHARACTERS]


class FrameBlock(Block):
    """Rows that come in columns already: a Parquet row group, an Arrow batch. `first_line` numbers its rows."""

    def __init__(self, spec: TableSpec, file: str, first_line: int, columns: Mapping[str, pl.Series]) -> None:
        self._columns = columns
        self._first_line = first_line
        super().__init__(spec, file, len(next(iter(columns.values()))) if columns else 0)

    def _series(self, name: str) -> pl.Series:
        return self._columns[self.spec.columns[name].header]

    def _parse(self, name: str) -> Parsed:
        return parse_series(self.spec.columns[name].kind, self._nulled(name))

    def _nulled(self, name: str) -> pl.Series:
        series = self._series(name)
        if self.spec.null is not None and series.dtype == pl.String:
            return series.set(series == self.spec.null, None)
        return series

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        whole = parse_series(Text(), self._nulled(name)).values
        return whole if rows is None else whole[rows]

    def _filled(self, name: str) -> Mask:
        series = self._nulled(name)
        filled = series.is_not_null()
        if series.dtype == pl.String:
            filled &= (series != "").fill_null(False)
        return filled.to_numpy()

    def _lines(self, rows: Rows) -> list[int]:
        lines: list[int] = (rows + self._first_line).tolist()
        return lines

    def _raw(self, name: str, row: int, whole: bool) -> str:
        value = self._series(name)[row]
        # JSON is shown as JSON, also where it came as a nested value.
        return (encoded(value) or b"").decode() if isinstance(value, dict) else str(value)
