"""Parses plain ASCII numbers (sign, digits, point) in a buffer to integers, decimals and floats.

Every result is exact, or for floats the nearest one. A number that does not fit is bad, never truncated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.cells.cell_kernel import (
    AHEAD,
    BAD,
    ODD,
    PARSED,
    Bytes,
    Integers,
    Lengths,
    Starts,
    States,
    cell_kernel,
    is_empty,
    parse_cells,
)
from cauce.scan.cells.kinds import DECIMAL_SCALE
from cauce.scan.native import BOOL, I8, Array
from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import high_product, next_bit, prefetch, word_at

MAX_PLACES = 18
MAX_WHOLE_DIGITS = 17

_POWERS = np.array([10**i for i in range(20)], dtype=np.uint64)
_FLOAT_POWERS = np.array([float(10**i) for i in range(23)])
_MAX_INT64 = np.uint64(2**63 - 1)
_EXACT_FLOAT = np.uint64(2**53)
_SAFE_DIGITS = 19  # any 19 digits fit in 64 unsigned bits
_ZERO, _ONE, _TWO, _NINE, _TEN = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(9), np.uint64(10)
_ASCII_ZERO = np.uint64(ord("0"))
# One byte repeated in a word, and the weights that combine four pairs of digits.
_LOW_BITS, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ASCII_ZEROS = _LOW_BITS * np.uint64(ord("0"))
_POINTS = _LOW_BITS * np.uint64(ord(".") ^ ord("0"))
_OVER_NINE = _LOW_BITS * np.uint64(0x7F - 9)
_PAIRS = np.uint64(0x000000FF000000FF)
_PAIR_WEIGHTS = np.uint64(100 + (1_000_000 << 32))
_NEXT_PAIR_WEIGHTS = np.uint64(1 + (10_000 << 32))
_HALF_BITS, _HALF_MASK = np.uint64(32), np.uint64(0xFFFFFFFF)
_PLUS, _MINUS, _POINT, _DIGIT_ZERO = ord("+"), ord("-"), ord("."), ord("0")

_LOWER, _EXPONENT = 32, ord("e")
_WORDS = {b"inf": math.inf, b"+inf": math.inf, b"-inf": -math.inf, b"nan": math.nan}
_WORDS |= {sign + b"infinity": value for sign, value in ((b"", math.inf), (b"+", math.inf), (b"-", -math.inf))}
_LONGEST_WORD = max(map(len, _WORDS))
_SHORT_NUMBER = 64

_OUT = Array("int64")


@inline_piece
def _sign(buf: Any, p: Any, end: Any) -> Any:
    """1 for a minus (0 otherwise), and the offset after the sign."""
    if p < end:
        if buf[p] == _MINUS:
            return _ONE, p + 1
        if buf[p] == _PLUS:
            return _ZERO, p + 1
    return _ZERO, p


@inline_piece
def _zeros(buf: Any, p: Any, end: Any) -> Any:
    while p < end and buf[p] == _DIGIT_ZERO:
        p += 1
    return p


@inline_piece
def _digits(buf: Any, p: Any, end: Any, value: Any) -> Any:
    """``value`` with the digits at ``p`` appended, and their end. It wraps after 19 digits."""
    while p < end:
        # An unsigned index avoids the check for negative indexes.
        digit = np.uint64(buf[np.uint64(p)]) - _ASCII_ZERO
        if digit > _NINE:
            break
        value = value * _TEN + digit
        p += 1
    return value, p


@inline_piece
def _short_digits(buf: Any, p: Any, size: Any) -> Any:
    """One to eight bytes as digits: the last one is the highest byte, with zeros before the first. Bytes that are no
    digits have values above nine."""
    return (word_at(buf, p) ^ _ASCII_ZEROS) << np.uint64(64 - 8 * size)


@inline_piece
def _are_digits(digits: Any) -> Any:
    return ((digits + _OVER_NINE) | digits) & _HIGH_BITS == _ZERO


@inline_piece
def _combined(digits: Any) -> Any:
    """The number of eight digits: of pairs, then of fours, then of all."""
    digits = digits * _TEN + (digits >> np.uint64(8))
    low, high = digits & _PAIRS, (digits >> np.uint64(16)) & _PAIRS
    value = (low * _PAIR_WEIGHTS + high * _NEXT_PAIR_WEIGHTS) >> _HALF_BITS
    return value & _HALF_MASK


@inline_piece
def _scan_short(buf: Any, p: Any, size: Any) -> Any:
    """``_scan`` for one to eight bytes: all of them at once, as one word, without a branch on any digit."""
    word = _short_digits(buf, p, size)
    digits, decimals = np.int64(size), np.int64(0)
    other = word ^ _POINTS
    found = (other - _LOW_BITS) & ~other & _HIGH_BITS  # exact up to its lowest bit: the first point
    if found != _ZERO:
        upto = found ^ (found - _ONE)
        # Shift the bytes before the point over it; a second point remains and fails the digit check.
        word = (word & ~upto) | ((word & (upto >> np.uint64(8))) << np.uint64(8))
        decimals = np.int64(7 - (next_bit(found, 0) >> 3))
        digits -= 1
    if not _are_digits(word):
        digits = np.int64(0)
    return _combined(word), digits, decimals


@inline_piece
def _is_short(buf: Any, p: Any, size: Any) -> Any:
    """Whether the bytes can be read as one word."""
    return (size > 0) & (size <= 8) & (p + 8 <= len(buf))


@inline_piece
def _scan(buf: Any, p: Any, end: Any) -> Any:
    """All digits as one integer, their number (0 if it is not a number), and the number of decimals."""
    if _is_short(buf, p, end - p):
        return _scan_short(buf, p, end - p)
    value, point = _digits(buf, p, end, _ZERO)
    if point == end:
        return value, end - p, np.int64(0)
    if buf[point] != _POINT:
        return value, np.int64(0), np.int64(0)
    value, last = _digits(buf, point + 1, end, value)
    if last != end:
        return value, np.int64(0), np.int64(0)
    return value, end - p - 1, end - point - 1


@inline_piece
def _parts(buf: Any, p: Any, end: Any, places: Any) -> Any:
    """For scanned numbers of any length: the integer part, the decimals in units of 10^-places, and the number of
    significant digits of the integer part; -1 if a decimal beyond ``places`` is not zero."""
    first = _zeros(buf, p, end)
    whole, point = _digits(buf, first, end, _ZERO)
    fraction = _ZERO
    if point < end:
        fraction, last = _digits(buf, point + 1, min(end, point + 1 + places), _ZERO)
        fraction *= _POWERS[places - (last - point - 1)]
        if _zeros(buf, last, end) != end:
            return whole, fraction, np.int64(-1)
    return whole, fraction, point - first


@inline_piece
def _within(value: Any, negative: Any, values: Any, i: Any) -> Any:
    """Stores the value and returns whether it fits in 64 bits with its sign."""
    if value > _MAX_INT64 + negative:
        return BAD
    values[i] = np.int64(_ZERO - value) if negative else np.int64(value)
    return PARSED


@cell_kernel(BOOL, _OUT)
def _integer_kernel(buf: Bytes, start: Starts, length: Lengths, pointed: bool, values: Integers, state: States) -> None:
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, len(start) - 1)])
        p = start[i]
        size = np.int64(length[i])
        if pointed and size > 2:
            end = np.uint64(p + size)
            if (buf[end - _TWO] == _POINT) & (buf[end - _ONE] == _DIGIT_ZERO):
                # `17272.0`, the common form of an id that looks like a float.
                size -= 2
        if _is_short(buf, p, size):
            word = _short_digits(buf, p, size)
            if _are_digits(word):
                values[i] = np.int64(_combined(word))
                state[i] = PARSED
                continue
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        end = start[i] + length[i]
        negative, p = _sign(buf, start[i], end)
        value, digits, decimals = _scan(buf, p, end)
        whole = digits == end - p  # without a point
        if digits == 0 or not (whole or pointed):
            continue
        if decimals == 1 and digits <= _SAFE_DIGITS:
            if value % _TEN == _ZERO:
                state[i] = _within(value // _TEN, negative, values, i)
            continue
        if not whole or digits > _SAFE_DIGITS:
            value, _, digits = _parts(buf, p, end, 0)
        if 0 <= digits <= _SAFE_DIGITS:
            state[i] = _within(value, negative, values, i)


@cell_kernel(I8, _OUT)
def _fixed_kernel(buf: Bytes, start: Starts, length: Lengths, places: int, values: Integers, state: States) -> None:
    most_whole = (_MAX_INT64 + _ONE) // _POWERS[places]
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        end = start[i] + length[i]
        negative, p = _sign(buf, start[i], end)
        value, digits, decimals = _scan(buf, p, end)
        missing = places - decimals
        if digits == 0:
            continue
        if missing >= 0 and digits + missing <= _SAFE_DIGITS:
            state[i] = _within(value * _POWERS[missing], negative, values, i)
            continue
        whole, fraction, count = _parts(buf, p, end, places)
        # These limits keep the sum below 2^64, so that it cannot wrap.
        if 0 <= count <= _SAFE_DIGITS and whole <= most_whole:
            state[i] = _within(whole * _POWERS[places] + fraction, negative, values, i)


@cell_kernel(Array("uint64", 2))
def _decimal_kernel(buf: Bytes, start: Starts, length: Lengths, values: npt.NDArray[np.uint64], state: States) -> None:
    for i in range(len(start)):
        values[i, 0] = _ZERO
        values[i, 1] = _ZERO
        if is_empty(buf, start, length, state, i):
            continue
        end = start[i] + length[i]
        negative, p = _sign(buf, start[i], end)
        value, digits, decimals = _scan(buf, p, end)
        fraction = _ZERO
        missing = DECIMAL_SCALE - decimals
        if digits > MAX_WHOLE_DIGITS:
            value, fraction, count = _parts(buf, p, end, DECIMAL_SCALE)
            missing = DECIMAL_SCALE
            digits = 0 if count > MAX_WHOLE_DIGITS else count + 1
        if digits == 0:
            continue
        # value * scale + fraction in 128 bits.
        scale = _POWERS[np.uint64(missing)]
        low: Any = value * scale
        high: Any = high_product(value, scale)
        total = low + fraction
        if total < low:
            high += _ONE
        if negative:
            total = _ZERO - total
            high = ~high
            if total == _ZERO:
                high += _ONE
        values[i, 0] = total
        values[i, 1] = high
        state[i] = PARSED


@inline_piece
def _mantissa_end(buf: Any, p: Any, end: Any) -> Any:
    """The offset of the exponent of a number such as ``1.5e-3``; ``end`` if it is not such a number."""
    _, point = _digits(buf, p, end, _ZERO)
    last, digits = point, point - p
    if point < end and buf[point] == _POINT:
        _, last = _digits(buf, point + 1, end, _ZERO)
        digits += last - point - 1
    if digits == 0 or last + 1 >= end or buf[last] | _LOWER != _EXPONENT:
        return end
    _, first = _sign(buf, last + 1, end)
    _, stop = _digits(buf, first, end, _ZERO)
    return last if stop == end and stop > first else end


@cell_kernel(BOOL, Array("float64"))
def _float_kernel(
    buf: Bytes,
    start: Starts,
    length: Lengths,
    scientific: bool,
    values: npt.NDArray[np.float64],
    state: States,
) -> None:
    for i in range(len(start)):
        values[i] = 0.0
        if is_empty(buf, start, length, state, i):
            continue
        end = start[i] + length[i]
        negative, p = _sign(buf, start[i], end)
        value, digits, decimals = _scan(buf, p, end)
        if digits == 0:
            if scientific and _mantissa_end(buf, p, end) < end:
                state[i] = ODD
        elif digits <= _SAFE_DIGITS and value <= _EXACT_FLOAT:
            # Both operands are exact, so the division rounds once, to the nearest.
            magnitude = np.float64(value) / _FLOAT_POWERS[decimals]
            values[i] = -magnitude if negative else magnitude
            state[i] = PARSED
        else:
            state[i] = ODD


def integers(buf: Bytes, start: Starts, length: Lengths, *, pointed: bool = False) -> tuple[Integers, States]:
    """``[+-]?[0-9]+`` within 64 bits; with ``pointed`` also a point and zeros, as in ``17272.0``."""
    return parse_cells(_integer_kernel, np.int64, buf, start, length, pointed)


def fixed(buf: Bytes, start: Starts, length: Lengths, places: int) -> tuple[Integers, States]:
    """Numbers in units of ``10^-places``; one that would need rounding or exceeds 64 bits is bad."""
    if not 0 <= places <= MAX_PLACES:
        raise ValueError(f"a fixed number has 0 to {MAX_PLACES} decimals, not {places}")
    return parse_cells(_fixed_kernel, np.int64, buf, start, length, places)


def decimals(buf: Bytes, start: Starts, length: Lengths) -> tuple[npt.NDArray[np.uint64], States]:
    """Numbers times 10^18 as 128-bit two's complement: one row of low and high half per number, as in Arrow."""
    values, state = np.empty((len(start), 2), np.uint64), np.empty(len(start), np.uint8)
    _decimal_kernel(buf, start, length, values, state)
    return values, state


def floats(
    buf: Bytes, start: Starts, length: Lengths, *, scientific: bool = False
) -> tuple[npt.NDArray[np.float64], States]:
    """The float64 nearest to each number, equal to Python's ``float``; one out of range is bad. With ``scientific``,
    numbers may have exponents, and the words for infinity and not-a-number are values."""
    values, state = parse_cells(_float_kernel, np.float64, buf, start, length, scientific)
    odd = np.flatnonzero(state == ODD)
    if len(odd):
        # NumPy converts bytes as Python's `float` does, but needs the room of the longest cell for each. The kernel has
        # checked their form.
        short, long = odd[length[odd] <= _SHORT_NUMBER], odd[length[odd] > _SHORT_NUMBER]
        with np.errstate(over="ignore"):
            values[short] = np.array(_texts(buf, start, length, short), "S").astype(np.float64)
        values[long] = [float(text) for text in _texts(buf, start, length, long)]
        state[odd] = np.where(np.isinf(values[odd]), BAD, PARSED)
    if scientific:
        bad = np.flatnonzero((state == BAD) & (length <= _LONGEST_WORD))
        words = [_WORDS.get(text.lower()) for text in _texts(buf, start, length, bad)]
        for i, word in zip(bad, words, strict=True):
            if word is not None:
                values[i], state[i] = word, PARSED
    return values, state


def _texts(buf: Bytes, start: Starts, length: Lengths, rows: npt.NDArray[np.int64]) -> list[bytes]:
    data, ends = buf.data, start[rows] + length[rows]
    return [data[begin:end].tobytes() for begin, end in zip(start[rows].tolist(), ends.tolist(), strict=True)]
