"""Booleans: a few words and digits, in any case."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.cells.cell_kernel import (
    PARSED,
    STATES,
    Bytes,
    Lengths,
    Starts,
    States,
    cell_kernel,
    is_empty,
    parse_cells,
)
from cauce.scan.native.kernel import inline_piece

WORDS = {"true": True, "false": False, "t": True, "f": False, "yes": True, "no": False, "y": True, "n": False}
WORDS |= {"1": True, "0": False}

_LONGEST = max(map(len, WORDS))
_ORDERED = sorted(WORDS)
# A row per word, padded with zeros, and its value.
_LETTERS = np.array([list(word.encode().ljust(_LONGEST, b"\0")) for word in _ORDERED], np.uint8)
_SIZES = np.array([len(word) for word in _ORDERED])
_MEANINGS = np.array([WORDS[word] for word in _ORDERED], np.uint8)
_FIRST_CAPITAL, _LAST_CAPITAL, _LOWER = ord("A"), ord("Z"), 32


@inline_piece
def _is_word(buf: Any, p: Any, word: Any) -> Any:
    same = True
    for at in range(_SIZES[word]):
        byte = buf[p + at]
        if _FIRST_CAPITAL <= byte <= _LAST_CAPITAL:
            byte |= _LOWER
        same &= byte == _LETTERS[word, at]
    return same


@cell_kernel(STATES)
def _boolean_kernel(buf: Bytes, start: Starts, length: Lengths, values: States, state: States) -> None:
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        for word in range(len(_SIZES)):
            if length[i] == _SIZES[word] and _is_word(buf, start[i], word):
                values[i] = _MEANINGS[word]
                state[i] = PARSED


def booleans(buf: Bytes, start: Starts, length: Lengths) -> tuple[pl.Series, States]:
    """The value of each cell that is one of ``WORDS``."""
    values, state = parse_cells(_boolean_kernel, np.uint8, buf, start, length)
    buffers = [_bits(state == PARSED), _bits(values.view(np.bool_))]
    return arrow_series(pa.Array.from_buffers(pa.bool_(), len(state), buffers)), state


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
