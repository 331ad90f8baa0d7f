"""Tokenises the texts of a byte buffer into numbered words, VADER's tokens, 64 bytes at a time.

It knows nothing about sentiment. A text with emoji is returned as ``EMOJI``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cauce.scan.native import I8, Array, Struct, kernel, piece
from cauce.scan.native.simd import (
    BYTES,
    Bytes,
    Ints,
    after_last,
    below,
    byte_at,
    either_mask,
    equal_mask,
    high_mask,
    lower_block,
    next_bit,
    population,
    range_mask,
    word_at,
)

SPARE_BYTES = 72
"""Bytes that may be read past the end of a text: a block of 64 bytes, begun up to two late, and some margin."""

EMOJI, UNSURE = 10_001, 10_002
"""In place of units: the text has emoji to expand first; only the library's own summation can decide."""

SPACE, UPPER, LOWER, PICTURE = 1, 2, 4, 8
"""Classes of non-ASCII characters; PICTURE are emoji, and letters whose lower case is ASCII."""
CLASSED = 0x20000
"""Characters from here on have no class."""

UNKNOWN, CONTRACTION = 0, 1
"""The numbers of words that are not in the table; the second is for those that contain "n't"."""
CAPITAL = 0x8000
"""Added to the number of a word in capitals."""
GAP = 3
"""Number of unknown words before the first text, between two texts, and after the last."""

KEY_BYTES = 23
"""Maximum length of a word in the table. A key's last byte is the word's length, so NUL bytes differ from padding."""
LOWERED_BYTES = 64 + KEY_BYTES + 1
BUCKETS, SLOTS = 4096, 16384
_BUCKET_SHIFT, _SLOT_SHIFT, _LENGTH_SHIFT = np.uint64(52), np.uint64(50), np.uint64(56)
_MIX_0, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
# For each length, the mask of its bytes in three machine words; zero if no word of the table has that length.
_KEPT = np.array(
    [(1 << 8 * min(max(n - 8 * k, 0), 8)) - 1 if n <= KEY_BYTES else 0 for n in range(65) for k in range(3)], np.uint64
)
# Masks are unsigned in compiled code, so their operands must be too.
_ZERO, _ONE, _TWO, _THREE = (cast(int, np.uint64(n)) for n in range(4))


class Table(NamedTuple):
    """The character classes, and the words of the table; a word's number is its row in ``keys``."""

    classes: NDArray[np.uint8]
    turns: NDArray[np.uint8]
    slots: NDArray[np.uint16]
    keys: NDArray[np.uint64]


_TABLE = Struct(Table, (Array("uint8"), Array("uint8"), Array("uint16"), Array("uint64")))
_INTS = Array("int64", read=True)


# The next three functions take numbers in the kernel, and arrays when the table is built.


def hashed(first: Any, second: Any, third: Any) -> Any:
    return first * _MIX_0 + second * _MIX_1 + third * _MIX_2


def bucket_of(key_hash: Any) -> Any:
    return key_hash >> _BUCKET_SHIFT


def slot_of(key_hash: Any, turn: Any) -> Any:
    """The only slot where a word can be: each bucket has its own multiplier that separates its words."""
    return (key_hash * (turn * _MIX_1 + _MIX_0)) >> _SLOT_SHIFT


_hashed, _bucket_of, _slot_of = piece(hashed), piece(bucket_of), piece(slot_of)


@piece
def _number(lowered: Bytes, at: int, size: int, table: Table) -> int:
    """The number of this word in the table. Branch-free, because branches on words cannot be predicted."""
    row = np.uint64(size) * _THREE
    first = word_at(lowered, at) & _KEPT[row]
    second = word_at(lowered, at + 8) & _KEPT[row + _ONE]
    third = word_at(lowered, at + 16) & _KEPT[row + _TWO] | np.uint64(size) << _LENGTH_SHIFT
    mix = _hashed(first, second, third)
    number = table.slots[_slot_of(mix, np.uint64(table.turns[_bucket_of(mix)]))]
    key = np.uint64(number) * _THREE
    differs = table.keys[key] ^ first | table.keys[key + _ONE] ^ second | table.keys[key + _TWO] ^ third
    return number if differs == _ZERO else UNKNOWN


@piece
def _class_at(data: Bytes, at: int, classes: NDArray[np.uint8]) -> tuple[int, int]:
    """The class and the size in bytes of the non-ASCII character at ``at``."""
    lead = byte_at(data, at)
    point = lead & 0x1F if lead < 0xE0 else lead & 0xF if lead < 0xF0 else lead & 7
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    for k in range(1, size):
        point = point << 6 | byte_at(data, at + k) & 0x3F
    return int(classes[point]) if point < CLASSED else 0, size


@piece
def _widen(data: Bytes, at: int, high: int, classes: NDArray[np.uint8]) -> tuple[int, int, int, int, int]:
    """The bits that non-ASCII characters add to the masks of a window, all their classes, and the window's end."""
    spaces, upper, lower = _ZERO, _ZERO, _ZERO
    met = 0
    leads = high & ~range_mask(data, at, 0x80, 0xBF)
    while leads:
        bit = next_bit(leads, 0)
        leads &= leads - _ONE
        kind, size = _class_at(data, at + bit, classes)
        if bit + size > 64:
            return spaces, upper, lower, met, bit
        met |= kind
        character = below(bit + size) & ~below(bit)
        if kind & SPACE:
            spaces |= character
        if kind & UPPER:
            upper |= character
        if kind & LOWER:
            lower |= character
    return spaces, upper, lower, met, 64


@piece
def _read_long(data: Bytes, at: int, end: int, table: Table, lowered: Bytes) -> tuple[int, int, int]:
    """The word at ``at``, too long for a window: its number, its character classes (two for ASCII too), its end."""
    begin, head, tail, met = at, end, at, 0
    contracted = False
    while at < end:
        byte = byte_at(data, at)
        size = 1
        mark = False
        if byte >= 0x80:
            kind, size = _class_at(data, at, table.classes)
            if kind & SPACE:
                break
            met |= kind
        elif 9 <= byte <= 13 or 28 <= byte <= 32:
            break
        elif 65 <= byte <= 90:
            met |= UPPER
        elif 97 <= byte <= 122:
            met |= LOWER
        else:
            mark = 33 <= byte <= 47 or 58 <= byte <= 126
        if byte == 39 and begin < at < end - 1:
            contracted |= byte_at(data, at - 1) | 32 == 110 and byte_at(data, at + 1) | 32 == 116
        if not mark:
            head = min(head, at)
            tail = at + size
        at += size
    word = UNKNOWN
    # If at most two characters are left, VADER keeps the whole token, which is too long for the table.
    if 2 < tail - head <= KEY_BYTES:
        lower_block(lowered, data, head)
        word = _number(lowered, 0, tail - head, table)
    return CONTRACTION if contracted and word == UNKNOWN else word, met, at


@piece
def _read(data: Bytes, at: int, end: int, table: Table, words: NDArray[np.uint16], to: int, lowered: Bytes) -> int:
    """Writes the words of a text from ``to`` on and returns their end; -EMOJI if the text has emoji.

    A window of 64 bytes begins where the last word of the previous one ends, so words are never split.
    """
    while at < end:
        spaces = range_mask(data, at, 9, 13) | range_mask(data, at, 28, 32)
        upper = range_mask(data, at, 65, 90)
        lower = range_mask(data, at, 97, 122)
        marks = range_mask(data, at, 33, 126) & ~(upper | lower | range_mask(data, at, 48, 57))
        nots = either_mask(data, at, 78, 110) & equal_mask(data, at + 1, 39) & either_mask(data, at + 2, 84, 116)
        high = high_mask(data, at)
        if end - at < 64:
            spaces |= ~below(end - at)
            high &= below(end - at)
        if high:
            more_spaces, more_upper, more_lower, met, width = _widen(data, at, high, table.classes)
            if met & PICTURE:
                return -EMOJI
            spaces = (spaces | more_spaces) & below(width)
            upper |= more_upper
            lower |= more_lower
        # The next text may begin with bytes that look like the rest of "n't".
        nots &= ~(spaces >> _ONE | spaces >> _TWO)
        begins = ~spaces & (spaces << _ONE | _ONE)
        stops = spaces & ~(spaces << _ONE | _ONE)
        if stops == _ZERO:
            skipped = next_bit(begins, 0)
            at += skipped
            if skipped == 0:
                word, met, at = _read_long(data, at, end, table, lowered)
                if met & PICTURE:
                    return -EMOJI
                words[to] = word | (CAPITAL if met & (UPPER | LOWER) == UPPER else 0)
                to += 1
            continue
        lower_block(lowered, data, at)
        stop = 0
        while stops:
            first = next_bit(begins, 0)
            stop = next_bit(stops, 0)
            begins &= begins - _ONE
            stops &= stops - _ONE
            token = below(stop) & ~below(first)
            core = token & ~marks
            head = next_bit(core, 0)
            tail = after_last(core)
            # VADER counts characters. If there are more bytes than characters, no word of the table matches anyway.
            if tail - head <= 2:
                head = first
                tail = stop
            word = _number(lowered, head, tail - head, table)
            if word == UNKNOWN and nots & token:
                word = CONTRACTION
            shouted = upper & token != _ZERO and lower & token == _ZERO
            words[to] = word | (CAPITAL if shouted else 0)
            to += 1
        at += stop
    return to


@piece
def _occurrences(data: Bytes, at: int, end: int, byte: int) -> int:
    count = 0
    while at < end:
        count += population(equal_mask(data, at, byte) & below(min(end - at, 64)))
        at += 64
    return count


@kernel(
    I8, BYTES, _INTS, _INTS, _TABLE, Array("uint16"), Array("int64"), Array("int64", 2), Array("int32"), Array("uint8")
)
def read(
    data: Bytes,
    starts: Ints,
    ends: Ints,
    table: Table,
    words: NDArray[np.uint16],
    firsts: Ints,
    marks: Ints,
    units: NDArray[np.int32],
    lowered: Bytes,
) -> int:
    """Writes the words of each text, their start, and the number of ``!`` and ``?``; marks unread texts in ``units``.

    ``words`` has room for one word per two bytes and the gaps, ``lowered`` for ``LOWERED_BYTES``. Returns the number
    of unread texts.
    """
    left, to = 0, 0
    for text in range(starts.size + 1):
        for _ in range(GAP):
            words[to] = UNKNOWN
            to += 1
        firsts[text] = to
        if text == starts.size:
            break
        at, end = starts[text], ends[text]
        stop = _read(data, at, end, table, words, to, lowered)
        units[text] = max(-stop, 0)
        left += stop < 0
        to = max(stop, to)
        marks[text, 0] = _occurrences(data, at, end, 33)
        marks[text, 1] = _occurrences(data, at, end, 63)
    return left
