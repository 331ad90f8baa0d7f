"""A part of a table in memory: cells are located, typed columns are checked, texts are built on demand.

Every row is checked for unreadable cells, so rejects never depend on the filters of a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.arrow import index_series
from cauce.scan.cells.decode import Parsed
from cauce.scan.cells.kinds import Json, Text
from cauce.scan.csv.lookup import Numbers, TextSet
from cauce.scan.diagnosis import reasons
from cauce.scan.tables import Column, TableSpec

if TYPE_CHECKING:
    from cauce.scan.row_index import RowIndex

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


class Block:
    """Base class of blocks: columns by name, usable rows, rejects."""

    def __init__(self, spec: TableSpec, file: str, height: int) -> None:
        self.spec = spec
        self.file = file
        self.height = height
        self._parsed: dict[str, Parsed] = {}
        self._texts: dict[str, pl.Series] = {}
        self._usable: dict[frozenset[str], Rows | None] = {}
        self._present: Mask | None = None
        self._converted: tuple[Rows, pl.Series] | None = None

    @property
    def whole(self) -> bool:
        """Whether the block ends at a record boundary of its file."""
        return True

    def subset(self, rows: Rows) -> Block | None:
        """A block of only these rows: its typed columns are decoded for them alone. It reports no rejects. None if
        decoding fewer rows would not take less time."""
        return None

    def index(self, column: str) -> RowIndex | None:
        """Where the rows begin, with their keys in a column. None if the part cannot be read by lines, or if there is
        a row without a key."""
        return None

    def column(self, name: str, rows: Rows | None) -> pl.Series:
        """A column for these rows (None: all). Text is built here, for these rows only."""
        if not isinstance(self.spec.columns[name].kind, Text):
            values = self.parsed(name).values
            return values if rows is None else values[self._indexes(rows)]
        if name in self._texts:
            return self._texts[name] if rows is None else self._texts[name][self._indexes(rows)]
        built = self._text(name, rows)
        if rows is None:
            self._texts[name] = built
        return built

    def _indexes(self, rows: Rows) -> pl.Series:
        """Row numbers for Polars, converted once for the columns that are built for the same rows."""
        if self._converted is None or self._converted[0] is not rows:
            self._converted = rows, index_series(rows)
        return self._converted[1]

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        """For each of these rows, the number of its text among `texts`; 0 if it is not among them."""
        return texts.numbers(self.column(name, rows))

    def filled(self, name: str, rows: Rows | None) -> Mask | None:
        """Which of these rows are not null in a text column."""
        if not isinstance(self.spec.columns[name].kind, Text):
            return None
        filled = self._filled(name)
        return filled if rows is None else filled[rows]

    def nulls(self, name: str) -> tuple[str, ...]:
        """The texts that mark an empty cell of a column."""
        of_column = self.spec.columns[name].nulls
        return of_column if self.spec.null is None else (self.spec.null, *of_column)

    def parsed(self, name: str) -> Parsed:
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def usable(self, used: frozenset[str]) -> Rows | None:
        """Rows without an empty required cell or an unreadable cell in a used column (None: all rows)."""
        unreadable = self.unreadable(used)
        if unreadable not in self._usable:
            good = self._required().copy()
            for name in unreadable:
                good &= ~self.parsed(name).bad
            self._usable[unreadable] = None if good.all() else np.flatnonzero(good)
        return self._usable[unreadable]

    def unreadable(self, used: frozenset[str]) -> frozenset[str]:
        """The used columns that have an unreadable cell. Equal sets imply equal usable rows."""
        return frozenset(name for name in used if self._may_be_bad(name) and self.parsed(name).bad.any())

    def rejects(self, columns: frozenset[str]) -> pl.DataFrame:
        """Malformed records, and unreadable cells of these columns, by line and column."""
        found = [*self._record_rejects()]
        for name in sorted(columns, key=lambda each: (self.spec.columns[each].again, each)):
            column = self.spec.columns[name]
            if not self._may_be_bad(name):
                continue
            bad = np.flatnonzero(self.parsed(name).bad)
            if len(bad):
                found.append(self._cell_rejects(name, column, bad))
        if not found:
            return pl.DataFrame(schema=REJECT_SCHEMA)
        # A cell that several columns read is reported once, for the first of them.
        once = pl.concat(found).unique(["line", "column"], keep="first", maintain_order=True)
        return once.sort("line", "column", nulls_last=True)

    def _required(self) -> Mask:
        if self._present is None:
            self._present = np.ones(self.height, dtype=np.bool_)
            for name in self.spec.required:
                self._present &= self._filled(name)
        return self._present

    def _cell_rejects(self, name: str, column: Column, bad: Rows) -> pl.DataFrame:
        # A JSON path needs the whole cell.
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

    # Depends on the storage of the cells.

    def _may_be_bad(self, name: str) -> bool:
        """Whether a column may have unreadable cells. Text columns never have."""
        return not isinstance(self.spec.columns[name].kind, Text)

    def _parse(self, name: str) -> Parsed:
        raise NotImplementedError

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        raise NotImplementedError

    def _filled(self, name: str) -> Mask:
        raise NotImplementedError

    def _lines(self, rows: Rows) -> list[int]:
        raise NotImplementedError

    def _raw(self, name: str, row: int, whole: bool) -> str:
        """A cell as text; unless `whole`, at least as much as a reject shows."""
        raise NotImplementedError

    def _record_rejects(self) -> list[pl.DataFrame]:
        return []


def record_rejects(file: str, lines: Sequence[int], reasons: Sequence[str], raws: Sequence[str]) -> list[pl.DataFrame]:
    """The rejects of whole records; no frame if there is none."""
    if not lines:
        return []
    columns = {
        "file": [file] * len(lines),
        "line": lines,
        "column": [None] * len(lines),
        "reason": reasons,
        "raw": [raw[:RAW_CHARACTERS] for raw in raws],
    }
    return [pl.DataFrame(columns, schema=REJECT_SCHEMA)]
