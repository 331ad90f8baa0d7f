"""Indexes of the rows of parts: the first pass over a table writes them to the temporary files of the job, and later
passes that look up its rows by key read only their lines. A part without an index is read as a whole, with the same
result: an index may be missing for any reason."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from cauce.job.topology import TaskSpec
from cauce.operators.late import Late
from cauce.plan.evaluate import Received
from cauce.scan.block import Block, Rows
from cauce.scan.parts import Part
from cauce.scan.reader import read_indexed, read_lines, read_part
from cauce.scan.row_index import RowIndex
from cauce.worker.tasks.job_context import JobContext

_MOST_CHOSEN = 0.5
"""The largest share of the rows of a part that is read by lines."""


class IndexedParts:
    """Reads the parts of a lane."""

    def __init__(self, context: JobContext, spec: TaskSpec) -> None:
        assert spec.stage.table is not None
        self._stage, self._table = spec.stage, spec.stage.table
        self._buffer = context.buffer
        self._folder = context.fabric.scratch(context.job)
        self._written = context.topology.plan.columns_looked_up(spec.stage) if self._folder else frozenset[str]()
        self._lookups = spec.stage.lookups if self._folder else frozenset()

    def read(self, part: Part, received: Received) -> tuple[Block, int]:
        """At least the rows of a part that the stage uses, and the number of all its rows."""
        return self._chosen(part, received) or self._whole(part)

    def _whole(self, part: Part) -> tuple[Block, int]:
        columns = self._stage.read_columns
        if not self._written:
            # Only a pass that reports unreadable cells has to decode all of them.
            late = self._stage.report_rejects is None
            block = read_part(part, self._table, columns, self._buffer, late=late)
            return block, block.height
        block = read_indexed(part, self._table, columns, self._buffer)
        for column in self._written:
            index = block.index(column)
            if index is not None:
                index.save(self._path(part, column))
        return block, block.height

    def _chosen(self, part: Part, received: Received) -> tuple[Block, int] | None:
        if not self._lookups or any(each.edge not in received.frames for each in self._lookups):
            return None
        indexes = {each.column: RowIndex.load(self._path(part, each.column)) for each in self._lookups}
        found = {column: index for column, index in indexes.items() if index is not None}
        if len(found) < len(indexes):
            return None
        rows = self._matching(found, received)
        index = next(iter(found.values()))
        if len(rows) > index.rows * _MOST_CHOSEN:
            return None
        lines = index.lines(rows)
        return read_lines(part, self._table, self._stage.read_columns, self._buffer, lines), index.rows

    def _matching(self, indexes: dict[str, RowIndex], received: Received) -> Rows:
        """The rows that one of the lookups keeps."""
        keys = {column: Late(index.column(column)) for column, index in indexes.items()}
        matches = np.zeros(next(iter(indexes.values())).rows, np.bool_)
        for each in self._lookups:
            matches[received.build(each.edge, (each.column,)).matching(keys[each.column])] = True
        return np.flatnonzero(matches)

    def _path(self, part: Part, column: str) -> Path:
        assert self._folder is not None
        named = hashlib.sha256(f"{self._table.name}\0{column}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self._folder / f"rows-{named}-{part.seq}"
