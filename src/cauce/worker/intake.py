"""What a task has received of an edge: named records, each counted once, in whatever order they came."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cauce.plan.evaluate import condense
from cauce.plan.physical import Edge

CONDENSE_ROWS = 200_000
"""Rows that may wait before they are condensed; at least as many as are condensed already, so that the work
stays proportional to what arrives."""


@dataclass(frozen=True, order=True)
class Name:
    """Who sent a record, and its number there. Its content never differs."""

    producer: str
    seq: int


class Intake:
    """Records of one edge for one partition. Its outcome depends only on the set of names it has taken."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.seen: set[Name] = set()
        self._rows: dict[Name, pl.DataFrame] = {}
        self._state: list[pl.DataFrame] = []
        self._waiting = 0

    def take(self, name: Name, frame: pl.DataFrame) -> None:
        if name in self.seen:
            return
        self.seen.add(name)
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
        if self.edge.merge is None:
            return pl.concat([self._rows[name] for name in sorted(self._rows)])
        self._condense()
        return self._state[0]


class InOrder:
    """Records of one edge that leave in the order of their numbers, without gaps, as soon as they can."""

    def __init__(self) -> None:
        self._next = 0
        self._held: dict[int, pl.DataFrame] = {}

    def take(self, seq: int, frame: pl.DataFrame) -> list[pl.DataFrame]:
        """What may leave now that this record has come."""
        if seq >= self._next:
            self._held[seq] = frame
        ready: list[pl.DataFrame] = []
        while self._next in self._held:
            ready.append(self._held.pop(self._next))
            self._next += 1
        return ready
