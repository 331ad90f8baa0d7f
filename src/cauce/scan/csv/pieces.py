"""Reads a part in pieces that stay in the processor's cache: cells of fixed width are decoded while the bytes of their
piece are there. Only other columns keep the places of their cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cauce.scan.cells.cell_kernel import States
from cauce.scan.cells.decode import fixed_width
from cauce.scan.cells.kinds import Kind
from cauce.scan.csv.located import Located, Scanner, room
from cauce.scan.native.simd import Bytes, Ints

PIECE_BYTES = 2**20
"""Of the first piece, and the least of all."""
MOST_PIECE_BYTES = 2**24
_PIECE_ROWS = 2**15
"""Others have about so many rows: each call of a kernel takes as long as some hundred rows."""
_ROOM_ROWS = 2**16
_FAULTS = 2**10


@dataclass(frozen=True)
class Cells:
    """The places of the cells of a column, as in ``Located``."""

    start: Ints
    length: NDArray[np.int32]
    escaped: NDArray[np.uint8]

    def only(self, rows: Ints) -> Cells:
        """The cells of these rows."""
        return Cells(self.start[rows], self.length[rows], self.escaped[rows])


@dataclass(frozen=True)
class Pieces:
    """A part after all its pieces. Decoded and located columns are in the requested order."""

    rows: int
    faults: int
    whole: bool
    decoded: list[tuple[NDArray[Any], States]]
    located: list[Cells]


class _Growing:
    """An array that grows as pieces are added."""

    def __init__(self) -> None:
        self._array: NDArray[Any] | None = None
        self._size = 0

    def add(self, piece: NDArray[Any], expected: int) -> None:
        """`expected` is an estimate of the final size."""
        end = self._size + len(piece)
        if self._array is None or end > len(self._array):
            grown = np.empty((max(expected, end), *piece.shape[1:]), piece.dtype)
            if self._array is not None:
                grown[: self._size] = self._array[: self._size]
            self._array = grown
        self._array[self._size : end] = piece
        self._size = end

    @property
    def array(self) -> NDArray[Any]:
        assert self._array is not None
        return self._array[: self._size]


def read_pieces(
    scanner: Scanner,
    buffer: Bytes,
    length: int,
    slots: int,
    typed: Sequence[tuple[int, Kind]],
    kept: Sequence[int],
) -> Pieces:
    """Decodes the `typed` columns, given by slot and kind, and locates the cells of the `kept` slots. `slots` is the
    number of all columns of the scanner."""
    decoded = [(_Growing(), _Growing()) for _ in typed]
    located = [(_Growing(), _Growing(), _Growing()) for _ in kept]
    rows = faults = 0
    whole = True
    for piece in _pieces(scanner, length, slots):
        rows += piece.rows
        faults += len(piece.fault_offset)
        whole = piece.whole
        # A little more than the rest has if its records have the same size.
        expected = int(1.03 * rows * (length / max(scanner.position, 1))) + _FAULTS
        for (at, kind), (values, states) in zip(typed, decoded, strict=True):
            made, state = fixed_width(kind, buffer, piece.start[at], piece.length[at])
            values.add(made, expected)
            states.add(state, expected)
        for at, (start, size, escaped) in zip(kept, located, strict=True):
            start.add(piece.start[at], expected)
            size.add(piece.length[at], expected)
            escaped.add(piece.escaped[at], expected)
    return Pieces(
        rows,
        faults,
        whole,
        [(values.array, states.array) for values, states in decoded],
        [Cells(start.array, size.array, escaped.array) for start, size, escaped in located],
    )


def _pieces(scanner: Scanner, length: int, slots: int) -> Iterator[Located]:
    """Each is overwritten by the next one. At least one."""
    arrays = room(slots, _ROOM_ROWS, _FAULTS)
    piece_bytes = PIECE_BYTES
    while True:
        before = scanner.position
        scanner.clear()
        scanner.scan_to(min(before + piece_bytes, length), arrays)
        yield scanner.located(arrays)
        if scanner.position >= length:
            return
        row_bytes = (scanner.position - before) / max(scanner.rows, 1)
        piece_bytes = int(min(max(_PIECE_ROWS * row_bytes, PIECE_BYTES), MOST_PIECE_BYTES))
