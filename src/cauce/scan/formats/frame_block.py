"""Columnar input in memory: rows of Parquet, an Arrow stream, or cells that a format has decoded itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa

from cauce.scan.block import Block, Mask, Rows
from cauce.scan.cells.decode import Parsed, all_bad, parse_series
from cauce.scan.cells.json_cells import encoded
from cauce.scan.cells.plain_text import decoded, plain_text
from cauce.scan.formats.arrow_columns import prepared
from cauce.scan.tables import TableSpec


class FrameBlock(Block):
    """Columnar input: rows of Parquet, or an Arrow batch. `first_line` numbers its rows. All cells of the
    `unreadable` columns are unreadable."""

    def __init__(
        self,
        spec: TableSpec,
        file: str,
        first_line: int,
        columns: Mapping[str, pl.Series],
        unreadable: frozenset[str] = frozenset(),
    ) -> None:
        self._columns = columns
        self._unreadable = unreadable
        self._first_line = first_line
        super().__init__(spec, file, len(next(iter(columns.values()))) if columns else 0)

    def _series(self, name: str) -> pl.Series:
        header = self.spec.columns[name].header
        if header in self._columns or not self.spec.missing_is_null:
            return self._columns[header]
        return pl.Series(header, [None], dtype=pl.String).new_from_index(0, self.height)

    def _is_unreadable(self, name: str) -> bool:
        return self.spec.columns[name].header in self._unreadable

    def _may_be_bad(self, name: str) -> bool:
        # A list or a struct has no text form.
        return super()._may_be_bad(name) or self._is_unreadable(name) or self._series(name).dtype.is_nested()

    def _parse(self, name: str) -> Parsed:
        kind = self.spec.columns[name].kind
        return (
            all_bad(kind, self._series(name)) if self._is_unreadable(name) else parse_series(kind, self._nulled(name))
        )

    def _nulled(self, name: str) -> pl.Series:
        series = self._series(name)
        nulls = self.nulls(name)
        if nulls and series.dtype == pl.String:
            return series.set(series.is_in(nulls), None)
        return series

    def _text(self, name: str, rows: Rows | None) -> pl.Series:
        whole = self.parsed(name).values
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
        cell = self._series(name).slice(row, 1)
        if cell.dtype.is_nested():
            return (encoded(cell.to_list()[0]) or b"").decode()
        # As text, since Python has no dates beyond the year 9999.
        text = decoded(cell) if cell.dtype == pl.Binary else plain_text(cell)
        return str(text[0]) if text is not None else str(cell.dtype)


def block_of_table(table: pa.Table, spec: TableSpec, file: str, first_line: int) -> FrameBlock:
    """The rows of an Arrow table, numbered from `first_line`."""
    table, unreadable = prepared(table)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    if not table.num_columns:
        frame = pl.DataFrame({"#row": np.zeros(table.num_rows, np.int8)})
    return FrameBlock(spec, file, first_line, {each.name: each for each in frame}, unreadable)
