"""Splits the rows of a fold into ranges of the hash of their keys, while they arrive or when they are read again.

Rows are buffered, so that the records of the temporary files have a useful size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.job.frames import dump_frame, load_frame
from cauce.operators.partition import key_hashes
from cauce.operators.weight import longest_texts, weigh
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.memory.ranges import EdgeRange, NamedFrame, Range
from cauce.worker.memory.spill import Spill

_MOST_CHUNK_BYTES = 64 << 20

Hashes = npt.NDArray[np.uint64]


class _Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Rows of several records; `runs` are the number, the producer and the rows of each."""

    runs: list[tuple[int, int, int]]
    frame: bytes


@dataclass(frozen=True)
class ByHash:
    """The hash, divided by `divisor`, modulo the number of ranges."""

    count: int
    divisor: int

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.uint8]:
        return (hashes // np.uint64(self.divisor) % np.uint64(self.count)).astype(np.uint8)


@dataclass(frozen=True)
class Apart:
    """Range 0 has the rows of one hash, range 1 all others."""

    hash: int
    count: int = 2

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.uint8]:
        numbers: npt.NDArray[np.uint8] = (hashes != np.uint64(self.hash)).astype(np.uint8)
        return numbers


Rule = ByHash | Apart
"""The range of each hash."""


class EdgeSplitter:
    """Writes the rows of one edge to files, one for each range, named after `path`. The hash is that of `keys`. Ranges
    before `first` are left out."""

    def __init__(
        self, spill: Spill, path: str, edge: Edge, keys: tuple[str, ...], rule: Rule, chunk_bytes: int, first: int = 0
    ) -> None:
        self._edge = edge
        self._keys = keys
        self._rule = rule
        self._chunk_bytes = min(chunk_bytes, _MOST_CHUNK_BYTES)
        self._first = first
        self._parts = [_Part(spill, f"{path}-{number}.{edge.number}") for number in range(rule.count)]
        self._held: list[NamedFrame] = []
        self.held_bytes = 0
        self._empty: pl.DataFrame | None = None
        self._longest: dict[str, int] = {}

    def add(self, name: tuple[int, int], frame: pl.DataFrame, weight: int) -> None:
        if self._edge.merge is not None:
            self._longest = longest_texts(frame, self._longest)
        if self._empty is None:
            self._empty = frame.clear()
        self._held.append((name, frame))
        self.held_bytes += weight
        if self.held_bytes >= self._chunk_bytes:
            self.flush()

    def add_all(self, source: EdgeRange) -> None:
        for name, frame in source.read():
            self.add(name, frame, weigh(frame))
            tick()
        if self._empty is None:
            self._empty = source.empty
        for column, size in source.longest.items():
            self._longest[column] = max(size, self._longest.get(column, 0))

    def ranges(self) -> list[EdgeRange]:
        """All ranges, when all rows have been added."""
        self.flush()
        return [part.range(self._edge, self._empty, self._longest) for part in self._parts]

    def flush(self) -> None:
        """Writes the rows that it holds."""
        held, self._held, self.held_bytes = self._held, [], 0
        rows = pl.concat([frame for _, frame in held]) if held else pl.DataFrame()
        if not rows.height:
            return
        names = [name for name, _ in held]
        records = np.repeat(np.arange(len(held)), [frame.height for _, frame in held])
        hashes = key_hashes(rows, self._keys).to_numpy()
        numbers = self._rule.numbers(hashes)
        sizes = np.bincount(numbers, minlength=self._rule.count)
        if np.count_nonzero(sizes) > 1:
            # Stable: the rows of a range keep their order.
            order = np.argsort(numbers, kind="stable")
            rows, hashes, records = rows[order], hashes[order], records[order]
        start = 0
        repeats: bool | None = None if self._edge.merge is not None and len(held) > 1 else False
        for number, size in enumerate(sizes.tolist()):
            if size and number >= self._first:
                end = start + size
                piece = kept = rows.slice(start, size)
                if self._edge.merge is not None and repeats is not False:
                    kept = self._edge.merge.condense(piece)
                    # One piece decides for all of the chunk: merging distinct keys costs time, and saves nothing.
                    repeats = kept.height * 2 <= piece.height if repeats is None else repeats
                runs = self._runs(names, records[start:end]) if self._edge.merge is None else [(0, 0, kept.height)]
                self._parts[number].add(runs, kept, weigh(piece), hashes[start:end])
            start += size
        tick()

    @staticmethod
    def _runs(names: Sequence[tuple[int, int]], records: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
        counts = np.bincount(records, minlength=len(names)).tolist()
        return [(*name, count) for name, count in zip(names, counts, strict=True) if count]


class _Part:
    """A range that is being written."""

    def __init__(self, spill: Spill, name: str) -> None:
        self._spill = spill
        self._name = name
        self._weight = 0
        self._low: int | None = None
        self._high: int | None = None

    def add(self, runs: list[tuple[int, int, int]], frame: pl.DataFrame, weight: int, hashes: Hashes) -> None:
        """`weight` is that of the rows before they were merged, which does not depend on the order of arrival."""
        self._spill.append(self._name, msgspec.msgpack.encode(_Chunk(runs, dump_frame(frame, compress=False))))
        self._weight += weight
        low, high = int(hashes.min()), int(hashes.max())
        self._low = low if self._low is None else min(self._low, low)
        self._high = high if self._high is None else max(self._high, high)

    def range(self, edge: Edge, empty: pl.DataFrame | None, longest: dict[str, int]) -> EdgeRange:
        return EdgeRange(edge, self._read, empty, self._weight, longest, self._low, self._high)

    def _read(self) -> Iterator[NamedFrame]:
        for data in self._spill.read(self._name):
            chunk = msgspec.msgpack.decode(data, type=_Chunk)
            frame, start = load_frame(chunk.frame), 0
            for seq, producer, rows in chunk.runs:
                yield (seq, producer), frame.slice(start, rows)
                start += rows
            tick()


class InputSplitter:
    """Splits the inputs of a fold from several edges."""

    def __init__(
        self, spill: Spill, path: str, edges: Sequence[Edge], rule: Rule, chunk_bytes: int, first: int = 0
    ) -> None:
        share = chunk_bytes // len(edges)
        self._splitters = {
            edge.number: EdgeSplitter(spill, path, edge, edge.keys, rule, share, first) for edge in edges
        }

    def sink(self, edge: Edge) -> Callable[[tuple[int, int], pl.DataFrame, int], None]:
        return self._splitters[edge.number].add

    def add_all(self, found: Range) -> None:
        for each in found:
            self._splitters[each.edge.number].add_all(each)

    @property
    def held_bytes(self) -> int:
        return sum(each.held_bytes for each in self._splitters.values())

    def flush(self) -> None:
        for each in self._splitters.values():
            each.flush()

    def ranges(self) -> list[Range]:
        """The ranges, each with the rows of all edges, when all rows have been added."""
        return [list(parts) for parts in zip(*(each.ranges() for each in self._splitters.values()), strict=True)]
