"""Lines of JSON objects as rows: each cell becomes the text that a careful writer would have put into a CSV file.

Strings stand as they are, numbers by their digits as written, lists as list literals. A line that is no object is a
reject; a key that an object lacks is an empty cell.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import msgspec
import numpy as np
import polars as pl

from cauce.scan.block import RAW_CHARACTERS, REJECT_SCHEMA, FrameBlock, Rows
from cauce.scan.json_cells import cell_text, json_object
from cauce.scan.kinds import Kind
from cauce.scan.tables import TableSpec

_REASON = "not a JSON object"
_SPACE = b" \t\r\n"


def lines_of(data: bytes) -> Iterator[bytes]:
    return iter(io.BytesIO(data))


class NdjsonBlock(FrameBlock):
    """Rows from lines of JSON. Rows are numbered by the lines they stand on."""

    def __init__(self, spec: TableSpec, file: str, first_line: int, data: bytes, columns: frozenset[str]) -> None:
        self._faults: list[tuple[int, str]] = []
        kinds = {spec.columns[name].header: spec.columns[name].kind for name in columns | set(spec.required)}
        cells: dict[str, list[str | None]] = {header: [] for header in kinds}
        lines: list[int] = []
        for number, line in enumerate(lines_of(data), first_line):
            stripped = line.strip(_SPACE)
            if not stripped:
                continue
            row = _row(stripped, kinds)
            if row is None:
                self._faults.append((number, stripped[: 8 * RAW_CHARACTERS].decode("utf-8", "replace")))
                continue
            lines.append(number)
            for header, cell in row.items():
                cells[header].append(cell)
        self._line_numbers = np.array(lines, np.int64)
        series = {header: pl.Series(header, texts, dtype=pl.String) for header, texts in cells.items()}
        if not series:
            series = {"#row": pl.Series("#row", np.zeros(len(lines), np.int8))}
        super().__init__(spec, file, first_line, series)

    def _lines(self, rows: Rows) -> list[int]:
        lines: list[int] = self._line_numbers[rows].tolist()
        return lines

    def _record_rejects(self) -> list[pl.DataFrame]:
        if not self._faults:
            return []
        count = len(self._faults)
        frame = {
            "file": [self.file] * count,
            "line": [line for line, _ in self._faults],
            "column": [None] * count,
            "reason": [_REASON] * count,
            "raw": [raw[:RAW_CHARACTERS] for _, raw in self._faults],
        }
        return [pl.DataFrame(frame, schema=REJECT_SCHEMA)]


def _row(line: bytes, kinds: dict[str, Kind]) -> dict[str, str | None] | None:
    """The texts of the cells; None if the line is no object, or a cell of it no text at all."""
    members = json_object(line)
    if members is None:
        return None
    try:
        return {header: cell_text(members.get(header), kind) for header, kind in kinds.items()}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
