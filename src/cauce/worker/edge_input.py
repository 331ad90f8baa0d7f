"""The input of a task from one log: deduplicates records by identity, and detects when the input is complete.

The result depends only on the set of records, not on their order. A producer closes its output with a count; no record
may be assumed to be the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
import polars as pl

from cauce.fabric.contract import START, Position
from cauce.fabric.records import Record
from cauce.job.completion import DumpedNames, Names
from cauce.job.frames import dump_frame, load_frame
from cauce.job.log_reader import LogReader
from cauce.operators.weight import longest_texts, weigh, weigh_state
from cauce.plan.evaluate import condense
from cauce.plan.physical import Edge
from cauce.process.progress import tick

CONDENSE_ROWS = 200_000
"""Rows that are buffered before they are merged into the state; at least as many as the state has, so that the cost
stays proportional to the input."""

PATIENCE = 3
"""After a merge that saved little, so many times the rows of the state are buffered before the next one."""

Name = tuple[int, int]
"""Number and producer of a record: the order in which its rows are concatenated."""

Sink = Callable[[Name, pl.DataFrame, int], None]
"""Receives the rows of a record, and their weight."""


class Collected:
    """The rows of one edge for one partition or a range of it, merged on arrival if the edge defines a merge.

    `weight` is the size of all rows, or of the merged state. It never shrinks when rows are added, and does not depend
    on their order: so every holder of a task finds the same folds too large."""

    def __init__(self, edge: Edge, fold_bytes: int = 0, longest: Mapping[str, int] | None = None) -> None:
        self.edge = edge
        self.rows: dict[Name, pl.DataFrame] = {}
        self.state: list[pl.DataFrame] = []
        self.weight = 0
        self.longest: dict[str, int] = dict(longest or {})
        """The length of the longest text of each column of a merged edge."""
        self._fold_bytes = fold_bytes
        self.total_weight = 0
        """Of all rows that were merged."""
        self._buffered_rows = 0
        self._buffered_weight = 0
        self._merged = True
        self._patience = 1

    def add(self, name: Name, frame: pl.DataFrame, weight: int) -> None:
        if self.edge.merge is None:
            self.rows[name] = frame
            self.weight += weight
            return
        if self._fold_bytes:
            self.longest = longest_texts(frame, self.longest)
        self.state.append(frame)
        self._merged = False
        self._buffered_rows += frame.height
        self._buffered_weight += weight
        many = self._buffered_rows > max(CONDENSE_ROWS, self._patience * self.state[0].height)
        if many or (self._fold_bytes and self._buffered_weight > max(self._fold_bytes, self.weight)):
            self.condense()

    def condense(self) -> None:
        if self._merged or self.edge.merge is None:
            return
        rows = pl.concat(self.state)
        self.state = [condense(self.edge, rows)]
        self._patience = 1 if self.state[0].height * 2 <= rows.height else PATIENCE
        self.total_weight += self._buffered_weight
        self._merged, self._buffered_rows, self._buffered_weight = True, 0, 0
        if self._fold_bytes and self.edge.keys and self.edge.merge.may_shrink:
            self.weight = self.total_weight
        elif self._fold_bytes:
            self.weight = weigh_state(self.state[0], self.edge.keys, self.longest)

    @property
    def held_bytes(self) -> int:
        return self.weight + self._buffered_weight

    def frame(self) -> pl.DataFrame:
        """The whole input: merged, or the records concatenated in the order of their identities."""
        if self.edge.merge is None:
            return pl.concat([self.rows[name] for name in sorted(self.rows)])
        self.condense()
        return self.state[0]


class DumpedIntake(msgspec.Struct, frozen=True):
    position: dict[str, int]
    names: DumpedNames
    rows: list[tuple[int, int, bytes]]
    state: list[bytes]
    weight: int = 0
    longest: dict[str, int] = {}
    parked: bool = False


class Intake:
    """The input of a task from one edge. A `parked` one counts its records and keeps none: they are read again when all
    are there. One that is diverted passes its rows to a `sink`."""

    def __init__(
        self, edge: Edge, where: str, producers: Collection[int], reader: LogReader, fold_bytes: int = 0
    ) -> None:
        self.edge = edge
        self._where = where
        self._producers = producers
        self.names = Names(where, producers)
        self.reader = reader
        self.read_bytes = 0
        """Bytes received since the last snapshot."""
        self.parked = False
        self._sink: Sink | None = None
        self._fold_bytes = fold_bytes
        self._collected = Collected(edge, fold_bytes)
        self._frame: pl.DataFrame | None = None

    @property
    def complete(self) -> bool:
        return self.names.complete

    @property
    def weight(self) -> int:
        return self._collected.weight

    @property
    def held_bytes(self) -> int:
        return 0 if self.parked else self._collected.held_bytes

    def add(self, records: Iterable[Record]) -> None:
        for record in self.names.fresh(records):
            self.read_bytes += len(record.body)
            if self.parked and self._sink is None:
                continue
            frame = load_frame(record.body)
            weight = weigh(frame) if self._fold_bytes else 0
            add = self._collected.add if self._sink is None else self._sink
            add((record.seq, record.producer), frame, weight)
            tick()

    def park(self) -> None:
        """Drops all rows. Its weight stays: it cannot shrink."""
        self.parked = True
        parked = Collected(self.edge, self._fold_bytes)
        parked.weight = self._collected.weight
        self._collected, self._frame = parked, None

    def divert(self, sink: Sink) -> None:
        """Passes all rows to the sink instead of holding them, as they came. If it holds merged rows, or none, it reads
        its log again from the start."""
        held, again = self._collected.rows, self.parked or self.edge.merge is not None
        self.park()
        if again:
            self.restart()
        self._sink = sink
        for name, frame in held.items():
            sink(name, frame, weigh(frame))

    def restart(self) -> None:
        """Reads its log again from the start. It keeps its weight, and no rows."""
        self.park()
        self._sink = None
        self.names, self.reader.position = Names(self._where, self._producers), START

    def condense(self) -> None:
        if not self.parked:
            self._collected.condense()

    def frame(self) -> pl.DataFrame:
        """The whole input: merged, or the records concatenated in the order of their identities."""
        assert not self.parked
        if self._frame is None:
            self._frame = self._collected.frame()
        return self._frame

    def state_bytes(self) -> int:
        held = [*self._collected.rows.values(), *self._collected.state]
        return sum(int(frame.estimated_size()) for frame in held)

    def dump(self) -> bytes:
        """A snapshot from which `restore` continues."""
        self.condense()
        held = self._collected
        rows = [(*name, dump_frame(frame)) for name, frame in sorted(held.rows.items())]
        state = [dump_frame(frame) for frame in held.state]
        self.read_bytes = 0
        position, names = self.reader.position.encode(), self.names.dump()
        return msgspec.msgpack.encode(
            DumpedIntake(position, names, rows, state, held.weight, held.longest, self.parked)
        )

    def restore(self, data: bytes) -> None:
        dumped = msgspec.msgpack.decode(data, type=DumpedIntake)
        self.reader.position = Position.decode(dumped.position)
        self.names.restore(dumped.names)
        self.parked = dumped.parked
        self._collected = Collected(self.edge, self._fold_bytes, dumped.longest)
        self._collected.rows = {(seq, producer): load_frame(frame) for seq, producer, frame in dumped.rows}
        self._collected.state = [load_frame(frame) for frame in dumped.state]
        self._collected.weight = self._collected.total_weight = dumped.weight
