"""Rows of one key, or of a stage without keys, that exceed the memory: read from temporary files in pieces.

The pieces depend only on the set of records, as everything that a task appends.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cauce.job.frames import dump_rows, load_frame
from cauce.operators.weight import weigh
from cauce.plan.evaluate import Stream
from cauce.plan.nodes import Final
from cauce.process.progress import tick
from cauce.worker.edge_input import Name
from cauce.worker.memory.ranges import HASHES, EdgeRange, is_one_hash, range_count
from cauce.worker.memory.spill import Spill
from cauce.worker.memory.splitting import ByHash, EdgeSplitter


def row_stream(spill: Spill, found: EdgeRange, name: str, piece_bytes: int) -> Stream:
    """The rows in the order of their records, in pieces of about this size."""
    places: list[tuple[Name, int, int]] = []
    for record, frame in found.read():
        if frame.height:
            places.append((record, spill.append(name, dump_rows(frame)), weigh(frame)))
        tick()
    places.sort()

    def read() -> Iterator[pl.DataFrame]:
        piece: list[pl.DataFrame] = []
        size = 0
        for _, offset, weight in places:
            for part in _slices(load_frame(spill.read_at(name, offset)), weight, piece_bytes):
                piece.append(part)
                size += weigh(part)
                if size >= piece_bytes:
                    yield pl.concat(piece)
                    tick()
                    piece, size = [], 0
        if piece:
            yield pl.concat(piece)

    return read


def _slices(frame: pl.DataFrame, weight: int, piece_bytes: int) -> list[pl.DataFrame]:
    rows = max(frame.height * piece_bytes // max(weight, 1), 1)
    return [frame.slice(start, rows) for start in range(0, frame.height, rows)]


def value_stream(spill: Spill, found: EdgeRange, name: str, piece_bytes: int) -> Stream | None:
    """The merged groups, split by the keys of the merge that are not keys of the edge; None if there are none."""
    merge = found.edge.merge
    if not isinstance(merge, Final):
        return None
    keys = tuple(key for key in merge.keys if key not in found.edge.keys)
    if not keys:
        return None
    leaves = list(_leaves(spill, found, name, piece_bytes, keys, 1))
    if any(leaf is None for leaf in leaves):
        return None

    def read() -> Iterator[pl.DataFrame]:
        for leaf in leaves:
            assert leaf is not None
            frame = leaf.frame_within(piece_bytes)
            assert frame is not None
            yield frame
            tick()

    return read


def _leaves(
    spill: Spill, found: EdgeRange, name: str, piece_bytes: int, keys: tuple[str, ...], divisor: int
) -> Iterator[EdgeRange | None]:
    """Ranges of at most this size; None for one that cannot be split."""
    small = found.weight is not None and found.weight <= piece_bytes
    if divisor > 1 and (small or found.collect(piece_bytes) is not None):
        yield found
        return
    count = range_count(piece_bytes, found.weight)
    if (divisor > 1 and is_one_hash([found])) or divisor * count > HASHES:
        yield None
        return
    splitter = EdgeSplitter(spill, name, found.edge, keys, ByHash(count, divisor), piece_bytes // 2)
    splitter.add_all(found)
    for number, part in enumerate(splitter.ranges()):
        if not part.is_empty:
            yield from _leaves(spill, part, f"{name}-{number}", piece_bytes, keys, divisor * count)
