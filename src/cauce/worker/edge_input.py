"""The input of a task from one log: deduplicates records by identity, and detects when the input is complete.

The result depends only on the set of records, not on their order. A producer closes its output with a count; no record
may be assumed to be the last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
import polars as pl

from cauce.fabric.contract import Position
from cauce.fabric.records import Record
from cauce.job.completion import DumpedNames, Names
from cauce.job.frames import dump_frame, load_frame
from cauce.job.log_reader import LogReader
from cauce.plan.evaluate import condense
from cauce.plan.physical import Edge
from cauce.process.progress import tick

CONDENSE_ROWS = 200_000
"""Rows that are buffered before they are merged into the state; at least as many as the state has, so that the cost
stays proportional to the input."""


class DumpedIntake(msgspec.Struct, frozen=True):
    position: dict[str, int]
    names: DumpedNames
    rows: list[tuple[int, int, bytes]]
    state: list[bytes]


class Intake:
    """The records of one edge for one partition, merged on arrival if the edge defines a merge."""

    def __init__(self, edge: Edge, where: str, producers: Collection[int], reader: LogReader) -> None:
        self.edge = edge
        self.names = Names(where, producers)
        self.reader = reader
        self.read_bytes = 0
        """Bytes received since the last snapshot."""
        self._rows: dict[tuple[int, int], pl.DataFrame] = {}
        self._state: list[pl.DataFrame] = []
        self._buffered_rows = 0
        self._frame: pl.DataFrame | None = None

    @property
    def complete(self) -> bool:
        return self.names.complete

    def add(self, records: Iterable[Record]) -> None:
        for record in self.names.fresh(records):
            self.read_bytes += len(record.body)
            self._add((record.seq, record.producer), load_frame(record.body))
            tick()

    def _add(self, name: tuple[int, int], frame: pl.DataFrame) -> None:
        if self.edge.merge is None:
            self._rows[name] = frame
            return
        self._state.append(frame)
        self._buffered_rows += frame.height
        if self._buffered_rows > max(CONDENSE_ROWS, self._state[0].height):
            self._condense()

    def _condense(self) -> None:
        self._state = [condense(self.edge, pl.concat(self._state))]
        self._buffered_rows = 0

    def frame(self) -> pl.DataFrame:
        """The whole input: merged, or the records concatenated in the order of their identities."""
        if self._frame is None:
            if self.edge.merge is None:
                self._frame = pl.concat([self._rows[name] for name in sorted(self._rows)])
            else:
                self._condense()
                self._frame = self._state[0]
        return self._frame

    def state_bytes(self) -> int:
        held = [*self._rows.values(), *self._state]
        return sum(int(frame.estimated_size()) for frame in held)

    def dump(self) -> bytes:
        """A snapshot from which `restore` continues."""
        if self.edge.merge is not None and self._state:
            self._condense()
        rows = [(*name, dump_frame(frame)) for name, frame in sorted(self._rows.items())]
        state = [dump_frame(frame) for frame in self._state]
        self.read_bytes = 0
        return msgspec.msgpack.encode(DumpedIntake(self.reader.position.encode(), self.names.dump(), rows, state))

    def restore(self, data: bytes) -> None:
        dumped = msgspec.msgpack.decode(data, type=DumpedIntake)
        self.reader.position = Position.decode(dumped.position)
        self.names.restore(dumped.names)
        self._rows = {(seq, producer): load_frame(frame) for seq, producer, frame in dumped.rows}
        self._state = [load_frame(frame) for frame in dumped.state]
        self._buffered_rows = 0
