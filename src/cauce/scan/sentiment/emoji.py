"""Replaces emoji by words before a text is read, as VADER does: one character at a time, by its own list.

Non-ASCII letters whose lower case is ASCII (the kelvin sign) become the ASCII letter that they look like.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cauce.scan.native import VOID, Array, Struct, kernel, piece
from cauce.scan.native.simd import BYTES, Bytes, Ints, byte_at, copy_block, high_mask, next_bit
from cauce.scan.sentiment.reading import SPARE_BYTES
from cauce.scan.sentiment.vocabulary import letters, pictures

_SPACE = 32


class Spellings(NamedTuple):
    """The emoji in ascending order, and the words of each as a range of ``text``, which begins with a space.
    ``apart`` says which are separated from the preceding text."""

    points: Ints
    bounds: Ints
    text: NDArray[np.uint8]
    apart: NDArray[np.uint8]


_SPELLINGS = Struct(Spellings, (Array("int64"), Array("int64"), Array("uint8"), Array("uint8")))
_INTS = Array("int64", read=True)


def replace_emoji(data: Bytes, starts: Ints, ends: Ints) -> tuple[Bytes, Ints]:
    """The texts with their emoji replaced by words: text ``i`` is ``data[bounds[i]:bounds[i + 1]]``."""
    if starts.size and ends[-1] + SPARE_BYTES > data.size:
        data = np.concatenate([data, np.zeros(SPARE_BYTES, np.uint8)])
    bounds = np.zeros(starts.size + 1, np.int64)
    _spell(data, starts, ends, _spellings(), np.empty(0, np.uint8), bounds)
    target = np.empty(bounds[-1] + SPARE_BYTES, np.uint8)
    _spell(data, starts, ends, _spellings(), target, bounds)
    return target, bounds


@lru_cache(maxsize=1)
def _spellings() -> Spellings:
    known = sorted((ord(emoji), words.encode()) for emoji, words in (letters() | pictures()).items())
    bounds = np.cumsum([1] + [len(words) for _, words in known])
    text = np.frombuffer(bytearray(b" " + b"".join(words for _, words in known) + bytes(SPARE_BYTES)), np.uint8)
    apart = np.array([chr(point) in pictures() for point, _ in known], np.uint8)
    return Spellings(np.array([point for point, _ in known], np.int64), bounds.astype(np.int64), text, apart)


@piece
def _point(data: Bytes, at: int) -> tuple[int, int]:
    """The code point of the non-ASCII character at ``at``, and its size in bytes."""
    lead = byte_at(data, at)
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    point = lead & (0x7F >> size)
    for k in range(1, size):
        point = point << 6 | byte_at(data, at + k) & 0x3F
    return point, size


@piece
def _put(target: Bytes, to: int, source: Bytes, at: int, size: int) -> int:
    """Copies if there is a target; always returns the end of the copy, so that a first pass can measure."""
    if target.size:
        # Copies whole blocks: the next copy overwrites the excess.
        for k in range(0, size, 64):
            copy_block(target, to + k, source, at + k)
    return to + size


@piece
def _row(points: Ints, point: int) -> int:
    """The index of the emoji in the list, or -1."""
    low, high = 0, points.size
    while low < high:
        middle = (low + high) // 2
        if points[middle] < point:
            low = middle + 1
        else:
            high = middle
    return low if low < points.size and points[low] == point else -1


@piece
def _spell_one(data: Bytes, at: int, end: int, known: Spellings, target: Bytes, to: int) -> int:
    begin = at
    while at < end:
        run = at
        while run < end:
            plain = next_bit(high_mask(data, run), 0)
            run += plain
            if plain < 64:
                break
        run = min(run, end)
        to = _put(target, to, data, at, run - at)
        at = run
        if at < end:
            point, size = _point(data, at)
            row = _row(known.points, point)
            if row < 0:
                to = _put(target, to, data, at, size)
            else:
                # Words are preceded by a space, but not followed by one.
                if known.apart[row] and at > begin and byte_at(data, at - 1) != _SPACE:
                    to = _put(target, to, known.text, 0, 1)
                to = _put(target, to, known.text, known.bounds[row], known.bounds[row + 1] - known.bounds[row])
            at += size
    return to


@kernel(VOID, BYTES, _INTS, _INTS, _SPELLINGS, Array("uint8"), Array("int64"))
def _spell(data: Bytes, starts: Ints, ends: Ints, known: Spellings, target: Bytes, bounds: Ints) -> None:
    for text in range(starts.size):
        bounds[text + 1] = _spell_one(data, starts[text], ends[text], known, target, bounds[text])
