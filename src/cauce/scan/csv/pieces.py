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
from cauce.scan.csv.short_text import ShortTexts, short_texts
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
    texts: list[ShortTexts | None]
    """None if a column has texts that are not short."""
    starts: Ints
    """Where the records begin, if that was requested."""


class _Growing:
    """An array that grows as pieces are added."""

    def __init__(self) -> None:
        self._array: NDArray[Any] | None = None
        self.size = 0

    def add(self, piece: NDArray[Any], expected: int) -> None:
        """`expected` is an estimate of the final size."""
        end = self.size + len(piece)
        if self._array is None or end > len(self._array):
            grown = np.empty((max(expected, end), *piece.shape[1:]), piece.dtype)
            if self._array is not None:
                grown[: self.size] = self._array[: self.size]
            self._array = grown
        self._array[self.size : end] = piece
        self.size = end

    @property
    def array(self) -> NDArray[Any]:
        assert self._array is not None
        return self._array[: self.size]


class _Texts:
    """A column of short texts that grows as pieces are added, until one of them is not short."""

    def __init__(self) -> None:
        self._views, self._filled = _Growing(), _Growing()
        self._empty = 0
        self._are_short = True

    def add(self, buffer: Bytes, piece: Located, at: int, expected: int) -> None:
        if not self._are_short or not piece.rows:
            return
        made = short_texts(buffer, piece.start[at], piece.length[at], piece.escaped[at])
        self._are_short = made is not None
        if made is not None:
            self._views.add(made.views, expected)
            self._filled.add(made.filled, expected)
            self._empty += made.empty

    def texts(self) -> ShortTexts | None:
        if not self._are_short or not self._views.size:
            return None
        return ShortTexts(self._views.array, self._filled.array, self._empty)


def read_pieces(
    scanner: Scanner,
    buffer: Bytes,
    length: int,
    slots: int,
    typed: Sequence[tuple[int, Kind]],
    kept: Sequence[int],
    texts: Sequence[int] = (),
    *,
    with_starts: bool = False,
) -> Pieces:
    """Decodes the `typed` columns, given by slot and kind, locates the cells of the `kept` slots, and builds the
    `texts` of slots if they are short. `slots` is the number of all columns of the scanner."""
    starts = _Growing()
    built = [_Texts() for _ in texts]
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
        for at, column in zip(texts, built, strict=True):
            column.add(buffer, piece, at, expected)
        if with_starts:
            starts.add(piece.record_start, expected)
    return Pieces(
        rows,
        faults,
        whole,
        [(values.array, states.array) for values, states in decoded],
        [Cells(start.array, size.array, escaped.array) for start, size, escaped in located],
        [column.texts() for column in built],
        starts.array if with_starts else np.empty(0, np.int64),
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
