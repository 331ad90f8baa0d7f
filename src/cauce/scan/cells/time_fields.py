"""Parts of dates and times that several kernels parse: the day, the fraction of a second, the UTC offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import word_at

# Days per month, index 0 unused, of an ordinary year and then of a leap year.
_MONTH_DAYS = np.array([[0, 31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] for leap in (0, 1)])
_DAYS_BEFORE = (np.cumsum(_MONTH_DAYS, axis=1) - _MONTH_DAYS).ravel()
_MONTH_DAYS = _MONTH_DAYS.ravel()
# First day of each year since the epoch: a lookup saves several divisions.
_YEARS = np.arange(-1, 10_000)
_YEAR_DAYS = (_YEARS * 365 + _YEARS // 4 - _YEARS // 100 + _YEARS // 400 - 719_162).astype(np.int32)
DAY_S, HOUR_S, MINUTE_S, SECOND_US = 86_400, 3_600, 60, 1_000_000
FIRST_US, LAST_US = -719_162 * 86_400_000_000, 2_932_897 * 86_400_000_000 - 1  # years 0001 to 9999
NO_DAY = -(2**31)
NO_OFFSET, HAS_OFFSET, BAD_OFFSET = 0, 1, 2
_NO_NUMBER = 100_000
_ASCII_ZERO, _NINE, _TEN = np.uint64(ord("0")), np.uint64(9), np.uint64(10)
_HIGH_BITS, _BYTE = np.uint64(0x8080808080808080), np.uint64(0xFF)
_OVER_PAIRS = np.uint64(0x76767F76767F7676)
"""Sets the highest bit of each byte that is no digit, or no zero where marks are."""
NO_PAIRS = np.uint64(2**64 - 1)
DATE_FORM = np.uint64(int.from_bytes(b"00-00-00", "little"))
CLOCK_FORM = np.uint64(int.from_bytes(b"00:00:00", "little"))
_DIGIT_ZERO, _DASH, _SPACE, _COLON = ord("0"), ord("-"), ord(" "), ord(":")
_PLUS, _Z, _LOWER = ord("+"), ord("z"), 32
_U, _T, _C = ord("U"), ord("T"), ord("C")
_MOST_FRACTION_DIGITS = 9
_FRACTION_US = np.array([10 ** max(6 - digits, 0) for digits in range(10)])
_DROPPED = np.array([10 ** max(digits - 6, 0) for digits in range(10)])


@inline_piece
def two_digits(buf: Any, p: Any) -> Any:
    """The number of two digits at ``p``, or a value so large that every sum of it here is out of range."""
    # An unsigned index avoids the check for negative indexes.
    tens = np.uint64(buf[np.uint64(p)]) - _ASCII_ZERO
    ones = np.uint64(buf[np.uint64(p + 1)]) - _ASCII_ZERO
    return np.int64(tens * _TEN + ones) if (tens <= _NINE) & (ones <= _NINE) else np.int64(_NO_NUMBER)


@inline_piece
def three_pairs(buf: Any, p: Any, form: Any) -> Any:
    """Three numbers of two digits in the eight bytes at ``p``, in the first, fourth and seventh byte of a word. The
    marks between them are those of ``form``, which has zeros for digits. ``NO_PAIRS`` for other bytes."""
    digits = word_at(buf, p) ^ form
    if ((digits + _OVER_PAIRS) | digits) & _HIGH_BITS:
        return NO_PAIRS
    return digits * _TEN + (digits >> np.uint64(8))


@inline_piece
def pair(pairs: Any, shift: Any) -> Any:
    return np.int64(pairs >> np.uint64(shift) & _BYTE)


@inline_piece
def day_at(buf: Any, p: Any) -> Any:
    """Days since the epoch of the date in the ten bytes at ``p``."""
    pairs = three_pairs(buf, p + 2, DATE_FORM)
    century = two_digits(buf, p)
    if pairs == NO_PAIRS:
        return np.int64(NO_DAY)
    return day_number(century * 100 + pair(pairs, 0), pair(pairs, 24), pair(pairs, 48))


@inline_piece
def day_number(year: Any, month: Any, day: Any) -> Any:
    """Days since the epoch, or ``NO_DAY`` for a day that is not in the calendar. No argument is negative."""
    if (year > 9999) | (month > 12):
        return np.int64(NO_DAY)
    # Unsigned indexes avoid the check for negative ones.
    first = np.int64(_YEAR_DAYS[np.uint64(year)])
    month += 13 * (np.int64(_YEAR_DAYS[np.uint64(year + 1)]) - first - 365)
    if (year < 1) | (day < 1) | (day > _MONTH_DAYS[np.uint64(month)]):
        return np.int64(NO_DAY)
    return first + _DAYS_BEFORE[np.uint64(month)] + day - 1


@inline_piece
def fraction(buf: Any, p: Any, end: Any) -> Any:
    """Microseconds of the fraction whose digits begin at ``p``, and its end; ``p`` if it has no or too many digits."""
    first, number = p, np.int64(0)
    while p < end and p - first <= _MOST_FRACTION_DIGITS:
        digit = np.int64(buf[np.uint64(p)]) - _DIGIT_ZERO
        if (digit < 0) | (digit > 9):
            break
        number = number * 10 + digit
        p += 1
    digits = p - first
    if digits > _MOST_FRACTION_DIGITS:
        return np.int64(0), first
    return number * _FRACTION_US[digits] // _DROPPED[digits], p


@inline_piece
def utc_offset(buf: Any, p: Any, end: Any) -> Any:
    """The UTC offset in ``buf[p:end]`` in seconds, and whether it is an offset, empty, or invalid."""
    if p == end:
        return np.int64(0), NO_OFFSET
    if buf[p] == _SPACE:
        p += 1
    size = end - p
    if size == 1 and buf[p] | _LOWER == _Z:
        return np.int64(0), HAS_OFFSET
    if size == 3 and (buf[p] == _U) & (buf[p + 1] == _T) & (buf[p + 2] == _C):
        return np.int64(0), HAS_OFFSET
    if size < 3 or (buf[p] != _PLUS and buf[p] != _DASH):
        return np.int64(0), BAD_OFFSET
    hours, minutes = two_digits(buf, p + 1), np.int64(0)
    if size == 5:
        minutes = two_digits(buf, p + 3)
    elif size == 6 and buf[p + 3] == _COLON:
        minutes = two_digits(buf, p + 4)
    elif size != 3:
        return np.int64(0), BAD_OFFSET
    if (hours > 23) | (minutes > 59):
        return np.int64(0), BAD_OFFSET
    seconds = hours * HOUR_S + minutes * MINUTE_S
    return (-seconds if buf[p] == _DASH else seconds), HAS_OFFSET
