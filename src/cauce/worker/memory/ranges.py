"""Ranges of the hash of a fold's keys: their rows in temporary files, and how many fit into the memory together.

The rows of a range, and the order of its records, depend only on the set of records that the fold has read: neither on
their order nor on the holder of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from cauce.operators.partition import key_hashes
from cauce.operators.weight import weigh
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.scan.integers.scatter import vote
from cauce.worker.edge_input import Collected, Name

NamedFrame = tuple[Name, pl.DataFrame]

HASHES = 1 << 64
_FEWEST_RANGES, _MOST_RANGES = 8, 64
_PIECE_BYTES = 1 << 14
"""A chunk of rows is divided into pieces of about this size at least: smaller ones cost more than they save."""
_HOT_SHARE = 0.75
"""A hash is hot if more than this share of the rows have it."""


@dataclass
class EdgeRange:
    """The rows of one edge in a range: `read` returns them from the first one at each call. `weight` is their size,
    before they are merged (None: unknown); `low` and `high` are the smallest and the largest hash (None: unknown)."""

    edge: Edge
    read: Callable[[], Iterator[NamedFrame]]
    empty: pl.DataFrame | None = None
    weight: int | None = None
    longest: dict[str, int] = field(default_factory=dict)
    low: int | None = None
    high: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low is None and self.empty is not None

    def collect(self, fold_bytes: int) -> Collected | None:
        """All its rows, merged if the edge defines a merge; None if they weigh more than `fold_bytes`."""
        collected = Collected(self.edge, fold_bytes, self.longest)
        if self.edge.merge is None and self.weight is not None and self.weight > fold_bytes:
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

    def frame(self) -> pl.DataFrame:
        """All its rows, however large: merged, or in the order of their records."""
        found = list(self.read())
        if self.edge.merge is None:
            found.sort(key=lambda each: each[0])
        frames = [frame for _, frame in found if frame.height] or [frame for _, frame in found[:1]]
        if not frames:
            assert self.empty is not None
            frames = [self.empty]
        rows = pl.concat(frames)
        return rows if self.edge.merge is None else self.edge.merge.condense(rows)

    def frame_within(self, fold_bytes: int) -> pl.DataFrame | None:
        """As `frame`; None if it weighs more than `fold_bytes`."""
        if self.weight is not None and self.weight <= fold_bytes:
            return self.frame()
        collected = self.collect(fold_bytes)
        return None if collected is None else collected.frame()


Range = Sequence[EdgeRange]
"""The rows of all edges of a fold that are split by their keys."""


def weight_of(found: Range) -> int | None:
    """The size of all rows; None if it is unknown."""
    weights = [each.weight for each in found if each.weight is not None]
    return sum(weights) if len(weights) == len(found) else None


def is_one_hash(found: Range) -> bool:
    """Whether all rows have the same hash, so that no hash splits them."""
    lows = [each.low for each in found if each.low is not None]
    highs = [each.high for each in found if each.high is not None]
    return bool(lows) and min(lows) == max(highs)


def collect_all(found: Range, fold_bytes: int) -> dict[int, pl.DataFrame] | None:
    """The frames of all edges; None if they weigh more than `fold_bytes` together."""
    weight = weight_of(found)
    if weight is not None and weight <= fold_bytes:
        return {each.edge.number: each.frame() for each in found}
    frames: dict[int, pl.DataFrame] = {}
    left = fold_bytes
    for each in found:
        collected = each.collect(left)
        if collected is None:
            return None
        left -= collected.weight
        frames[each.edge.number] = collected.frame()
    return frames


def grouped(ranges: Sequence[Range], fold_bytes: int, first: int = 0) -> Iterator[tuple[range, Range]]:
    """Combines neighbours that fit into the memory together. Returns their numbers, and the rows. The ranges before
    `first`, with which a group starts, are left out: the others are combined in the same way."""
    start, size = first, 0
    for number in range(first, len(ranges)):
        weight = weight_of(ranges[number]) or 0
        if number > start and size + weight > fold_bytes:
            yield range(start, number), _combined(ranges[start:number])
            start, size = number, 0
        size += weight
    if start < len(ranges):
        yield range(start, len(ranges)), _combined(ranges[start:])


def _combined(ranges: Sequence[Range]) -> Range:
    return [_combined_edge(list(parts)) for parts in zip(*ranges, strict=True)]


def _combined_edge(parts: Sequence[EdgeRange]) -> EdgeRange:
    def read() -> Iterator[NamedFrame]:
        for part in parts:
            yield from part.read()

    if len(parts) == 1:
        return parts[0]
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    first = parts[0]
    weight = sum(part.weight or 0 for part in parts)
    return EdgeRange(
        first.edge, read, first.empty, weight, first.longest, min(lows, default=None), max(highs, default=None)
    )


def range_count(fold_bytes: int, weight: int | None = None) -> int:
    """Into how many ranges an input is split, by its size if that is known: a power of two."""
    most = _MOST_RANGES
    while most > _FEWEST_RANGES and most * _PIECE_BYTES > fold_bytes // 2:
        most //= 2
    count = 2
    while count < most and (weight is None or count * fold_bytes * 4 < weight * 5):
        count *= 2
    return count


def hot_hash(found: Range) -> int | None:
    """The hash of more than three quarters of the rows of the largest edge, if there is one.

    The first pass votes: no other hash may be so frequent. The second one counts its rows."""
    largest = max(found, key=lambda each: each.weight or 0)
    state, rows = np.zeros(2, np.uint64), 0
    for hashes in _hashes(largest):
        vote(np.ascontiguousarray(hashes), state)
        rows += len(hashes)
    candidate, surplus = map(int, state)
    if surplus <= rows * (2 * _HOT_SHARE - 1):
        return None
    count = sum(int(np.count_nonzero(hashes == state[0])) for hashes in _hashes(largest))
    return candidate if count > rows * _HOT_SHARE else None


def _hashes(found: EdgeRange) -> Iterator[np.ndarray]:
    for _, frame in found.read():
        if frame.height:
            yield key_hashes(frame, found.edge.keys).to_numpy()
        tick()
