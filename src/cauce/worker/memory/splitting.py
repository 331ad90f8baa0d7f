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
from cauce.operators.partition import key_hashes, side_by_side
from cauce.operators.weight import longest_texts, row_weights, weigh
from cauce.plan.nodes import Mergeable
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.scan.integers.columns import in_one_piece
from cauce.scan.integers.packing import Packed
from cauce.scan.integers.scatter import Placement
from cauce.worker.memory.blocks import Block, Piece, pack_rows, read_pieces
from cauce.worker.memory.ranges import EdgeRange, NamedFrame, Range
from cauce.worker.memory.spill import Spill

_MOST_CHUNK_BYTES = 64 << 20
_READ_ROWS = 200_000
"""Rows of a range that are read at once."""

Hashes = npt.NDArray[np.uint64]
Runs = list[tuple[int, int, int]]
"""The number, the producer and the rows of each record, in the order of the rows."""


class _Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Rows of several records."""

    runs: Runs
    frame: bytes


@dataclass(frozen=True)
class ByHash:
    """The hash, divided by `divisor`, modulo the number of ranges."""

    count: int
    divisor: int

    def placement(self, hashes: Hashes) -> Placement:
        return Placement.of(hashes, self.count, self.divisor)


@dataclass(frozen=True)
class Apart:
    """Range 0 has the rows of one hash, range 1 all others."""

    hash: int
    count: int = 2

    def placement(self, hashes: Hashes) -> Placement:
        return Placement.apart(hashes, self.hash)


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
        self._spill = spill
        self._block_name = f"{path}.{edge.number}b"
        self._parts = [_Part(spill, f"{path}-{number}.{edge.number}", self._block_name) for number in range(rule.count)]
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
        rows = in_one_piece(pl.concat([frame for _, frame in held])) if held else pl.DataFrame()
        if not rows.height:
            return
        placement = self._rule.placement(key_hashes(rows, self._keys).to_numpy())
        ordered = side_by_side(rows, placement)
        runs = _runs(held, placement) if self._edge.merge is None else None
        merge = self._edge.merge if len(held) > 1 else None
        if merge is not None and not self._repeats(ordered, placement):
            # Merging distinct keys costs time, and saves nothing.
            merge = None
        packed = pack_rows(ordered) if merge is None else None
        if packed is not None:
            self._write_packed(packed, weigh(rows) // rows.height, placement, runs)
        else:
            self._write_pieces(ordered, placement, runs, merge)
        tick()

    def _repeats(self, ordered: pl.DataFrame, placement: Placement) -> bool:
        """Whether merging saves half of the rows: one range decides for all of them."""
        assert self._edge.merge is not None
        number = next(each for each in np.flatnonzero(placement.counts).tolist())
        piece = ordered.slice(int(placement.starts[number]), int(placement.counts[number]))
        return self._edge.merge.condense(piece).height * 2 <= piece.height

    def _write_packed(self, packed: Packed, row_bytes: int, placement: Placement, runs: list[Runs] | None) -> None:
        """Rows of fixed width: all ranges are written at once, and each reads its part of every column."""
        block = Block(packed.layout, self._spill.append(self._block_name, packed.body))
        for number, start, size in _filled(placement, self._first):
            piece = Piece(block, start, size, [(0, 0, size)] if runs is None else runs[number])
            self._parts[number].add_block(piece, size * row_bytes, placement, number)

    def _write_pieces(
        self, ordered: pl.DataFrame, placement: Placement, runs: list[Runs] | None, merge: Mergeable | None
    ) -> None:
        weights = row_weights(ordered)
        upto = None if weights is None else np.concatenate([[0], np.cumsum(weights)])
        for number, start, size in _filled(placement, self._first):
            piece = ordered.slice(start, size)
            weight = weigh(piece) if upto is None else int(upto[start + size] - upto[start])
            kept = piece if merge is None else merge.condense(piece)
            named = [(0, 0, kept.height)] if runs is None else runs[number]
            self._parts[number].add(named, kept, weight, placement, number)


def _filled(placement: Placement, first: int) -> Iterator[tuple[int, int, int]]:
    """The number of each range with rows, its first row, and how many it has."""
    starts, counts = placement.starts.tolist(), placement.counts.tolist()
    for number in range(first, len(counts)):
        if counts[number]:
            yield number, starts[number], counts[number]


def _runs(held: Sequence[NamedFrame], placement: Placement) -> list[Runs]:
    """For each range, the rows that it has of each record."""
    made: list[Runs] = [[] for _ in placement.counts]
    start = 0
    for name, frame in held:
        counts = np.bincount(placement.numbers[start : start + frame.height], minlength=len(made))
        for number in np.flatnonzero(counts).tolist():
            made[number].append((*name, int(counts[number])))
        start += frame.height
    return made


class _Part:
    """A range that is being written: blocks of packed rows in a file that all ranges share, or pieces in its own."""

    def __init__(self, spill: Spill, name: str, block_name: str) -> None:
        self._spill = spill
        self._name = name
        self._block_name = block_name
        self._pieces: list[Piece] = []
        self._weight = 0
        self._low: int | None = None
        self._high: int | None = None

    def add(self, runs: Runs, frame: pl.DataFrame, weight: int, placement: Placement, number: int) -> None:
        """`weight` is that of the rows before they were merged, which does not depend on the order of arrival."""
        self._spill.append(self._name, msgspec.msgpack.encode(_Chunk(runs, dump_frame(frame, compress=False))))
        self._count(weight, placement, number)

    def add_block(self, piece: Piece, weight: int, placement: Placement, number: int) -> None:
        self._pieces.append(piece)
        self._count(weight, placement, number)

    def _count(self, weight: int, placement: Placement, number: int) -> None:
        self._weight += weight
        low, high = int(placement.lows[number]), int(placement.highs[number])
        self._low = low if self._low is None else min(self._low, low)
        self._high = high if self._high is None else max(self._high, high)

    def range(self, edge: Edge, empty: pl.DataFrame | None, longest: dict[str, int]) -> EdgeRange:
        return EdgeRange(edge, self._read, empty, self._weight, longest, self._low, self._high)

    def _read(self) -> Iterator[NamedFrame]:
        for pieces in _together(self._pieces):
            frame = read_pieces(self._spill, self._block_name, pieces)
            yield from _named([run for piece in pieces for run in piece.runs], frame)
            tick()
        for data in self._spill.read(self._name):
            chunk = msgspec.msgpack.decode(data, type=_Chunk)
            yield from _named(chunk.runs, load_frame(chunk.frame))
            tick()


def _together(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Consecutive pieces with the same columns that are read at once."""
    made: list[Piece] = []
    for piece in pieces:
        alike = not made or made[0].block.layout.is_like(piece.block.layout)
        if made and (not alike or sum(each.rows for each in made) + piece.rows > _READ_ROWS):
            yield made
            made = []
        made.append(piece)
    if made:
        yield made


def _named(runs: Runs, frame: pl.DataFrame) -> Iterator[NamedFrame]:
    start = 0
    for seq, producer, rows in runs:
        yield (seq, producer), frame.slice(start, rows)
        start += rows


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
