"""Counts rejects by table, column and reason, with an example of each, in bounded memory.

Rejects of a table arrive in file and line order, in any number of frames.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import polars as pl

from cauce.errors import TooManyRejects, UsageError
from cauce.scan.diagnosis import reasons, remedy
from cauce.scan.tables import TableSpec

MOST_GROUPS = 200
"""Maximum (column, reason) groups of a table; all further ones are counted in one group."""

OTHER_REASONS = "other reasons"
REMEDY_SHARE = Fraction(1, 10)
"""A remedy changes the whole column, so it is suggested only if at least this share of the table's rows needs it."""

EXAMPLE_CHARACTERS = 500
SUMMARY_SCHEMA = {
    "table": pl.String,
    "column": pl.String,
    "reason": pl.String,
    "cells": pl.Int64,
    "file": pl.String,
    "line": pl.Int64,
    "raw": pl.String,
    "remedy": pl.String,
}


@dataclass
class RejectGroup:
    """Rejects of one column (None: whole records) for one reason. The example is the first reject."""

    column: str | None
    reason: str
    file: str
    line: int
    raw: str
    cells: int = 0


@dataclass
class TableRejects:
    """The rejects of a table. `rows` counts the records that were split into cells."""

    spec: TableSpec
    rows: int = 0
    records: int = 0
    """Records that could not be split into cells."""
    cells: int = 0
    rejected_rows: int = 0
    """Rows that have a rejected cell."""
    groups: dict[tuple[str | None, str], RejectGroup] = field(default_factory=dict)
    _last: tuple[str, int] | None = None

    @property
    def rejected(self) -> int:
        return self.rejected_rows + self.records

    @property
    def share(self) -> Fraction:
        """The share of all records that are rejected as a whole or have a rejected cell."""
        return Fraction(self.rejected, max(self.rows + self.records, self.rejected, 1))

    def add(self, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        cells = frame.filter(pl.col("column").is_not_null())
        self.records += frame.height - cells.height
        self.cells += cells.height
        self._count_rows(cells)
        found = frame.group_by("column", "reason", maintain_order=True).agg(
            pl.len().alias("cells"), pl.col("file", "line", "raw").first()
        )
        for row in found.iter_rows(named=True):
            self._group(row).cells += row["cells"]

    def _count_rows(self, cells: pl.DataFrame) -> None:
        if cells.is_empty():
            return
        self.rejected_rows += cells.select("file", "line").n_unique()
        # The rejects of a line may be split over two frames.
        if cells.row(0)[:2] == self._last:
            self.rejected_rows -= 1
        self._last = cells.row(-1)[0], cells.row(-1)[1]

    def _group(self, row: dict[str, object]) -> RejectGroup:
        key = (None if row["column"] is None else str(row["column"])), str(row["reason"])
        if key not in self.groups and len(self.groups) >= MOST_GROUPS:
            key = None, OTHER_REASONS
        if key not in self.groups:
            raw = str(row["raw"])[:EXAMPLE_CHARACTERS]
            self.groups[key] = RejectGroup(*key, str(row["file"]), int(str(row["line"])), raw)
        return self.groups[key]

    def remedy(self, group: RejectGroup) -> str:
        """The dataset change with which cells like the example can be read; empty if only a few are rejected."""
        if Fraction(group.cells, max(self.rows, 1)) < REMEDY_SHARE:
            return ""
        if self.spec.title:
            # Of SQL: its columns are not declared.
            option = shlex.quote(f"{self.spec.title}.{group.column}=text")
            return f"correct the cells, or read them as text: --type {option}" if group.column else ""
        kinds = [each.kind for each in self.spec.columns.values() if each.header == group.column]
        guilty = [kind for kind in kinds if reasons(kind, [group.raw]) == [group.reason]]
        return remedy(guilty[0], group.raw) if guilty else ""


class RejectSummary:
    """All rejects of a run."""

    def __init__(self) -> None:
        self.tables: dict[str, TableRejects] = {}

    def add(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        """Adds `rows` records of a table and the rejects found among them."""
        found = self.tables.setdefault(table.name, TableRejects(table))
        found.rows += rows
        found.add(frame)

    @property
    def cells(self) -> int:
        return sum(each.cells for each in self.tables.values())

    @property
    def rejected_rows(self) -> int:
        return sum(each.rejected_rows for each in self.tables.values())

    @property
    def records(self) -> int:
        return sum(each.records for each in self.tables.values())

    def __bool__(self) -> bool:
        return bool(self.cells or self.records)

    def groups(self) -> Iterator[tuple[TableRejects, RejectGroup]]:
        """The most frequent first."""
        found = [(table, group) for table in self.tables.values() for group in table.groups.values()]
        yield from sorted(found, key=lambda each: -each[1].cells)

    def frame(self) -> pl.DataFrame:
        rows = [
            {"table": table.spec.name, "remedy": table.remedy(group), **vars(group)} for table, group in self.groups()
        ]
        return pl.DataFrame(rows, schema=SUMMARY_SCHEMA)

    def sentence(self) -> str:
        """The total of rejects: ``200,090 cells in 199,811 rows and 3 records``."""
        parts = []
        if self.cells:
            parts.append(f"{_counted(self.cells, 'cell')} in {_counted(self.rejected_rows, 'row')}")
        if self.records:
            parts.append(_counted(self.records, "record"))
        return " and ".join(parts) or "nothing"

    def warnings(self) -> list[str]:
        """A warning for each table of which more than half was rejected."""
        return [
            f"more than half of {each.spec.shown} was rejected ({percent(each.share)} of its "
            f"{_counted(each.rows + each.records, 'row')}): answers that use the rejected cells leave these rows out"
            for each in self.tables.values()
            if each.share > Fraction(1, 2)
        ]


@dataclass(frozen=True)
class RejectLimit:
    """The maximum of rejected rows in a run: a number of rows over all tables, or a share of each table."""

    text: str
    rows: int | None = None
    share: Fraction | None = None

    @classmethod
    def parse(cls, given: str | int | None) -> RejectLimit | None:
        if given is None or given == "":
            return None
        text = str(given)
        found = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)\s?%", text, re.ASCII)
        if found is None or (found[2] and Fraction(found[2]) > 100):
            raise UsageError(
                f"invalid limit of rejects {text!r}: expected a number of rows such as 100, or a share such as 5%"
            )
        return cls(text, int(found[1])) if found[1] else cls(text, share=Fraction(found[2]) / 100)

    def check(self, summary: RejectSummary) -> None:
        """Raises TooManyRejects if the limit is exceeded."""
        if self.rows is not None:
            rejected = summary.rejected_rows + summary.records
            if rejected > self.rows:
                raise TooManyRejects(f"{_counted(rejected, 'row')} rejected, more than the {self.rows:,} allowed")
        for table in summary.tables.values():
            if self.share is not None and table.share > self.share:
                raise TooManyRejects(
                    f"{table.rejected:,} of the {_counted(table.rows + table.records, 'row')} of {table.spec.shown} "
                    f"({percent(table.share)}) rejected, more than the {self.text} allowed"
                )


def percent(share: Fraction) -> str:
    """A whole percentage; 0 and 100 only if they are exact."""
    number = int(share * 100)
    return f"{max(number, 1) if share else 0} %"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
