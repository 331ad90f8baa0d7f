"""Splits the input of a fold into ranges of the hash of its keys, in temporary files.

The rows of a range, and the order of its records, depend only on the set of records that the fold has read: neither on
their order nor on the holder of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import polars as pl

from cauce.job.frames import dump_frame, load_frame
from cauce.operators.partition import key_hashes
from cauce.operators.weight import longest_texts, weigh
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.edge_input import Collected, Name
from cauce.worker.memory.spill import Spill

NamedFrame = tuple[Name, pl.DataFrame]

HASHES = 1 << 64
RANGES = 16
"""Into how many ranges a range is split that is too large itself."""
MOST_RANGES = 128
"""Into how many the whole input is split at most."""


class _Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Rows of several records; `runs` are the number, the producer and the rows of each."""

    runs: list[tuple[int, int, int]]
    frame: bytes


@dataclass
class EdgeRange:
    """The rows of one edge in a range: `read` returns them from the first one at each call. `weight` is their size,
    before they are merged; `low` and `high` are the smallest and the largest hash (None: unknown)."""

    edge: Edge
    read: Callable[[], Iterator[NamedFrame]]
    empty: pl.DataFrame | None = None
    weight: int = 0
    longest: dict[str, int] = field(default_factory=dict)
    low: int | None = None
    high: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low is None and self.empty is not None

    def collect(self, fold_bytes: int) -> Collected | None:
        """All its rows, merged if the edge defines a merge; None if they weigh more than `fold_bytes`."""
        collected = Collected(self.edge, fold_bytes, self.longest)
        if self.edge.merge is None and self.weight > fold_bytes:
            return None
        for name, frame in self.read():
            collected.add(name, frame, weigh(frame))
            if collected.weight > fold_bytes:
                return None
            tick()
        if self.empty is not None and not collected.rows and not collected.state:
            collected.add((0, 0), self.empty, 0)
        collected.condense()
        return collected if collected.weight <= fold_bytes else None


Range = Sequence[EdgeRange]
"""The rows of all edges of a fold that are split by their keys."""


def is_one_hash(found: Range) -> bool:
    """Whether all rows have the same hash, so that no hash splits them."""
    lows = [each.low for each in found if each.low is not None]
    highs = [each.high for each in found if each.high is not None]
    return bool(lows) and min(lows) == max(highs)


def collect_all(found: Range, fold_bytes: int) -> dict[int, pl.DataFrame] | None:
    """The frames of all edges; None if they weigh more than `fold_bytes` together."""
    frames: dict[int, pl.DataFrame] = {}
    left = fold_bytes
    for each in found:
        collected = each.collect(left)
        if collected is None:
            return None
        left -= collected.weight
        frames[each.edge.number] = collected.frame()
    return frames


@dataclass(frozen=True)
class Splitter:
    """Splits the rows of an edge into `count` ranges by the hash of `keys`, divided by `divisor`. The files are named
    after `path`. Ranges before `first` are left out."""

    spill: Spill
    path: str
    keys: tuple[str, ...]
    count: int
    divisor: int
    chunk_bytes: int
    first: int = 0

    def split(self, source: EdgeRange) -> list[EdgeRange]:
        parts = [_Part(self.spill, f"{self.path}-{number}.{source.edge.number}") for number in range(self.count)]
        longest = dict(source.longest)
        empty = source.empty
        for chunk in _chunks(source.read(), self.chunk_bytes):
            for _, frame in chunk:
                longest = longest_texts(frame, longest)
            empty = chunk[0][1].clear()
            self._split_chunk(source.edge, chunk, parts)
            tick()
        return [part.range(source.edge, empty, longest) for part in parts]

    def _split_chunk(self, edge: Edge, chunk: list[NamedFrame], parts: list[_Part]) -> None:
        rows = pl.concat([frame for _, frame in chunk])
        names = [name for name, _ in chunk]
        runs = np.repeat(np.arange(len(chunk)), [frame.height for _, frame in chunk])
        if edge.merge is not None:
            rows, names = edge.merge.condense(rows), [(0, 0)]
            runs = np.zeros(rows.height, dtype=np.int64)
        hashes = key_hashes(rows, self.keys)
        numbers = ((hashes // self.divisor) % self.count).to_numpy()
        for number in range(self.first, self.count):
            index = np.flatnonzero(numbers == number)
            if len(index):
                sizes = np.bincount(runs[index], minlength=len(names)).tolist()
                kept = [(*name, size) for name, size in zip(names, sizes, strict=True) if size]
                parts[number].add(kept, rows[index], hashes.gather(index))


class _Part:
    """A range that is being written."""

    def __init__(self, spill: Spill, name: str) -> None:
        self._spill = spill
        self._name = name
        self._weight = 0
        self._low: int | None = None
        self._high: int | None = None

    def add(self, runs: list[tuple[int, int, int]], frame: pl.DataFrame, hashes: pl.Series) -> None:
        self._spill.append(self._name, msgspec.msgpack.encode(_Chunk(runs, dump_frame(frame))))
        self._weight += weigh(frame)
        low, high = int(hashes.min()), int(hashes.max())  # type: ignore[arg-type]
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


def _chunks(frames: Iterable[NamedFrame], chunk_bytes: int) -> Iterator[list[NamedFrame]]:
    """Frames in groups of about this size."""
    chunk: list[NamedFrame] = []
    size = 0
    for name, frame in frames:
        chunk.append((name, frame))
        size += weigh(frame)
        if size >= chunk_bytes:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def range_count(weight: int, fold_bytes: int) -> int:
    """Into how many ranges an input is split: a power of two."""
    count = 2
    while count < MOST_RANGES and count * fold_bytes * 4 < weight * 5:
        count *= 2
    return count
