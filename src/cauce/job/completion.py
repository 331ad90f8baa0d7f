"""Deduplication and counted completion of a log's records. Depends only on the set of records, not on their order.

A producer closes its output with a count; no record may be assumed to be the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from cauce.errors import Conflict
from cauce.fabric.records import Kind, Record

T = TypeVar("T")


class DumpedNames(msgspec.Struct, frozen=True):
    digests: dict[int, dict[int, int]]
    ends: dict[int, int]


class Names:
    """The record identities read from a log with their digests, and the record count of each producer."""

    def __init__(self, where: str, producers: Collection[int]) -> None:
        self._where = where
        self._digests: dict[int, dict[int, int]] = {producer: {} for producer in producers}
        self._ends: dict[int, int] = {}

    def is_new(self, record: Record) -> bool:
        """Adds a data record; false if it is a duplicate. Raises Conflict on a duplicate with another digest."""
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

    def fresh(self, records: Iterable[Record]) -> Iterator[Record]:
        """The data records among these that were not received before. Counts the ends among them."""
        for each in records:
            if each.kind == Kind.END:
                self.end(each)
            elif each.kind == Kind.DATA and self.is_new(each):
                yield each

    def end(self, record: Record) -> None:
        known = self._ends.setdefault(record.producer, record.seq)
        if known != record.seq:
            raise Conflict(
                f"{self._where}: producer {record.producer} ended with {known} and with {record.seq} messages; "
                "a step is not deterministic: report this"
            )

    def count_of(self, producer: int) -> int | None:
        """The number of records with which a producer has closed its output, if it has."""
        return self._ends.get(producer)

    def closed_and_short(self) -> frozenset[int]:
        """The producers that have closed their output, and of which records are missing."""
        return frozenset(
            producer for producer, count in self._ends.items() if len(self._digests.get(producer, ())) < count
        )

    @property
    def complete(self) -> bool:
        return all(
            producer in self._ends and len(seen) == self._ends[producer] for producer, seen in self._digests.items()
        )

    @property
    def count(self) -> int:
        """The number of distinct records received."""
        return sum(map(len, self._digests.values()))

    def missing(self, name: Callable[[int], str] = str) -> str:
        """A message that names the producers whose records are missing."""
        waiting = [
            f"{name(producer)} ({len(seen)} of {self._ends.get(producer, 'a yet unknown number of')} records)"
            for producer, seen in self._digests.items()
            if len(seen) != self._ends.get(producer)
        ]
        return f"{self._where} waits for {'; '.join(waiting)}"

    def dump(self) -> DumpedNames:
        return DumpedNames(self._digests, self._ends)

    def restore(self, dumped: DumpedNames) -> None:
        self._digests, self._ends = dumped.digests, dumped.ends


class InOrder(Generic[T]):
    """A reorder buffer: releases numbered items in order and without gaps, as soon as possible."""

    def __init__(self) -> None:
        self._next = 0
        self._held: dict[int, T] = {}

    def take(self, seq: int, item: T) -> list[T]:
        """Adds an item; returns the items that are released by it."""
        if seq >= self._next:
            self._held[seq] = item
        ready: list[T] = []
        while self._next in self._held:
            ready.append(self._held.pop(self._next))
            self._next += 1
        return ready
