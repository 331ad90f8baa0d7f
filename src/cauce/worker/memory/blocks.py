"""Blocks of packed rows in a temporary file, of which each range reads its own rows: no decoder, and one write for all
ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cauce.job.frames import dump_rows, load_frame
from cauce.scan.integers.columns import Values, column_of, has_fixed_width, type_named
from cauce.scan.integers.packing import Layout, Packed, pack, unpack_values, value_type
from cauce.worker.memory.spill import Spill


@dataclass(frozen=True)
class Block:
    """Packed rows without nulls; `offset` is that of their body."""

    layout: Layout
    offset: int


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a block, and the records that they came from."""

    block: Block
    start: int
    rows: int
    runs: list[tuple[int, int, int]]


def pack_rows(frame: pl.DataFrame) -> Packed | None:
    """None if a range could not read its rows alone: some columns have no fixed width, or nulls."""
    alone = has_fixed_width(frame) and not any(column.null_count() for column in frame)
    return pack(frame) if alone else None


def read_pieces(spill: Spill, name: str, pieces: Sequence[Piece]) -> pl.DataFrame:
    """The rows of all pieces, which have the same columns."""
    first, rows = pieces[0].block.layout, sum(piece.rows for piece in pieces)
    columns = []
    for number, packed in enumerate(first.columns):
        values = np.empty(rows, value_type(packed))
        at = 0
        for piece in pieces:
            _read_column(spill, name, piece, number, values[at : at + piece.rows])
            at += piece.rows
        columns.append(column_of(packed.name, values, type_named(packed.dtype)))
    return pl.DataFrame(columns)


def _read_column(spill: Spill, name: str, piece: Piece, number: int, to: Values) -> None:
    layout = piece.block.layout
    packed = layout.columns[number]
    start, size = layout.offsets()[number] + piece.start * packed.width, piece.rows * packed.width
    unpack_values(packed, spill.read_within(name, piece.block.offset, start, size) if size else b"", to)


Stored = Piece | int
"""Where rows are: in a block of packed rows, or alone at an offset."""


def write_blocks(spill: Spill, name: str, frame: pl.DataFrame, rows: int) -> list[Stored]:
    """Writes a frame in blocks of so many rows, which are read by themselves."""
    packed = pack_rows(frame)
    starts = range(0, frame.height, rows)
    if packed is not None:
        block = Block(packed.layout, spill.append(name, packed.body))
        return [Piece(block, start, min(rows, frame.height - start), []) for start in starts]
    return [spill.append(name, dump_rows(frame.slice(start, rows), compress=False)) for start in starts]


def read_blocks(spill: Spill, name: str, stored: Sequence[Stored]) -> pl.DataFrame:
    pieces = [each for each in stored if isinstance(each, Piece)]
    others = [load_frame(spill.read_at(name, each)) for each in stored if isinstance(each, int)]
    return pl.concat([read_pieces(spill, name, pieces), *others] if pieces else others)
