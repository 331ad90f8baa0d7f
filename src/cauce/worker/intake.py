"""What a task has received of a log: each name counted once, in whatever order records come, until all are there.

The outcome depends on the set of names alone. A producer's end says how many names it has; no record is ever
trusted to be the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar

import msgspec
import polars as pl

from cauce.errors import Conflict
from cauce.fabric.contract import Position
from cauce.plan.evaluate import condense
from cauce.plan.physical import Edge
from cauce.wire.frames import dump_frame, load_frame
from cauce.wire.records import Kind, Record

CONDENSE_ROWS = 200_000
"""Rows that may wait before they are condensed; at least as many as are condensed already, so that the work
stays proportional to what arrives."""


T = TypeVar("T")


class DumpedNames(msgspec.Struct, frozen=True):
    digests: dict[int, dict[int, int]]
    ends: dict[int, int]


class DumpedIntake(msgspec.Struct, frozen=True):
    position: Position
    names: DumpedNames
    rows: list[tuple[int, int, bytes]]
    state: list[bytes]


class Names:
    """The names read from a log, with their digests, and how many each producer has."""

    def __init__(self, where: str, producers: Collection[int]) -> None:
        self._where = where
        self._digests: dict[int, dict[int, int]] = {producer: {} for producer in producers}
        self._ends: dict[int, int] = {}

    def is_new(self, record: Record) -> bool:
        """Puts a data record down; false if it was there. Two contents under one name are an alarm."""
        seen = self._digests.setdefault(record.producer, {})
        known = seen.get(record.seq)
        if known is None:
            seen[record.seq] = record.digest
            return True
        if known != record.digest:
            raise Conflict(
                f"{self._where}: message {record.producer}/{record.seq} came with two contents "
                f"({known:016x} and {record.digest:016x}); a step is not deterministic: report this"
            )
        return False

    def end(self, record: Record) -> None:
        known = self._ends.setdefault(record.producer, record.seq)
        if known != record.seq:
            raise Conflict(
                f"{self._where}: producer {record.producer} ended with {known} and with {record.seq} messages"
            )

    def count_of(self, producer: int) -> int | None:
        """How many messages a producer said it has sent."""
        return self._ends.get(producer)

    @property
    def complete(self) -> bool:
        return all(
            producer in self._ends and len(seen) == self._ends[producer] for producer, seen in self._digests.items()
        )

    @property
    def count(self) -> int:
        """How many messages have come."""
        return sum(map(len, self._digests.values()))

    def missing(self, name: Callable[[int], str] = str) -> str:
        """Whose messages are awaited, for people."""
        waiting = [
            f"{name(producer)} ({len(seen)} of {self._ends.get(producer, 'so far unknown')} messages)"
            for producer, seen in self._digests.items()
            if len(seen) != self._ends.get(producer)
        ]
        return f"{self._where} waits for {'; '.join(waiting)}"

    def dump(self) -> DumpedNames:
        return DumpedNames(self._digests, self._ends)

    def restore(self, dumped: DumpedNames) -> None:
        self._digests, self._ends = dumped.digests, dumped.ends


class Intake:
    """The records of one edge for one partition, merged as they come where the edge says how."""

    def __init__(self, edge: Edge, where: str, producers: Collection[int]) -> None:
        self.edge = edge
        self.names = Names(where, producers)
        self.position: Position = {}
        self.read_bytes = 0
        """Bytes taken since the last snapshot."""
        self._rows: dict[tuple[int, int], pl.DataFrame] = {}
        self._state: list[pl.DataFrame] = []
        self._waiting = 0
        self._frame: pl.DataFrame | None = None

    @property
    def complete(self) -> bool:
        return self.names.complete

    def take(self, records: Sequence[Record], position: Position) -> None:
        for record in records:
            if record.kind == Kind.END:
                self.names.end(record)
            elif record.kind == Kind.DATA and self.names.is_new(record):
                self.read_bytes += len(record.body)
                self._add((record.seq, record.producer), load_frame(record.body))
        self.position = position

    def _add(self, name: tuple[int, int], frame: pl.DataFrame) -> None:
        if self.edge.merge is None:
            self._rows[name] = frame
            return
        self._state.append(frame)
        self._waiting += frame.height
        if self._waiting > max(CONDENSE_ROWS, self._state[0].height):
            self._condense()

    def _condense(self) -> None:
        self._state = [condense(self.edge, pl.concat(self._state))]
        self._waiting = 0

    def frame(self) -> pl.DataFrame:
        """All that arrived: condensed, or the records one after the other by name."""
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
        """Everything needed to go on from here."""
        if self.edge.merge is not None and self._state:
            self._condense()
        rows = [(*name, dump_frame(frame)) for name, frame in sorted(self._rows.items())]
        state = [dump_frame(frame) for frame in self._state]
        self.read_bytes = 0
        return msgspec.msgpack.encode(DumpedIntake(self.position, self.names.dump(), rows, state))

    def restore(self, data: bytes) -> None:
        dumped = msgspec.msgpack.decode(data, type=DumpedIntake)
        self.position = dumped.position
        self.names.restore(dumped.names)
        self._rows = {(seq, producer): load_frame(frame) for seq, producer, frame in dumped.rows}
        self._state = [load_frame(frame) for frame in dumped.state]
        self._waiting = 0


class InOrder(Generic[T]):
    """Numbered things that leave in the order of their numbers, without gaps, as soon as they can."""

    def __init__(self) -> None:
        self._next = 0
        self._held: dict[int, T] = {}

    def take(self, seq: int, thing: T) -> list[T]:
        """What may leave now that this one has come."""
        if seq >= self._next:
            self._held[seq] = thing
        ready: list[T] = []
        while self._next in self._held:
            ready.append(self._held.pop(self._next))
            self._next += 1
        return ready
