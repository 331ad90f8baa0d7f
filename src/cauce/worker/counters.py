"""Counters of a task in this process, for display only: no result may depend on them."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec


class Flow(msgspec.Struct, frozen=True, array_like=True):
    records: int = 0
    rows: int = 0
    bytes: int = 0

    def plus(self, rows: int, size: int, records: int = 1) -> Flow:
        return Flow(self.records + records, self.rows + rows, self.bytes + size)

    def minus(self, other: Flow) -> Flow:
        return Flow(self.records - other.records, self.rows - other.rows, self.bytes - other.bytes)


@dataclass
class Work:
    """`read` counts parts of the table, `sent` the output to each edge."""

    read: Flow = field(default_factory=Flow)
    sent: dict[int, Flow] = field(default_factory=dict)
    last_part: int = 0

    def part(self, seq: int, rows: int, size: int) -> None:
        self.last_part = seq
        self.read = self.read.plus(rows, size)

    def send(self, edge: int, rows: int, size: int) -> None:
        self.sent[edge] = self.sent.get(edge, Flow()).plus(rows, size)

    def follow(self, other: Work) -> None:
        """Adds the counters of an earlier holder of the task in this process."""
        self.read = self.read.plus(other.read.rows, other.read.bytes, other.read.records)
        for edge, flow in other.sent.items():
            self.sent[edge] = self.sent.get(edge, Flow()).plus(flow.rows, flow.bytes, flow.records)
