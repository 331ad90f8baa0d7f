"""Dates, times and durations: fixed-width ISO text, and only what exists in the calendar.

No time zones and no fractions: a cell that has them is bad, never cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.native import VOID, Array, kernel
from cauce.native.kernel import inline_piece
from cauce.native.lanes import prefetch
from cauce.scan.cell_kernel import (
    AHEAD,
    BAD,
    BYTES,
    LENGTHS,
    NULL,
    PARSED,
    STARTS,
    STATES,
    Bytes,
    Integers,
    Lengths,
    Starts,
    States,
)

_DATE_BYTES, _TIME_BYTES = 10, 19
# Thirteen months, the first of no days, in an ordinary year and then in a leap year.
_MONTH_DAYS = np.array([[0, 31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] for leap in (0, 1)])
_DAYS_BEFORE = (np.cumsum(_MONTH_DAYS, axis=1) - _MONTH_DAYS).ravel()
_MONTH_DAYS = _MONTH_DAYS.ravel()
# First day of each year, counted from the epoch: a look-up is several divisions cheaper.
_YEAR_DAYS = np.array(
    [year * 365 + year // 4 - year // 100 + year // 400 - 719_162 for year in range(-1, 10_000)],
    dtype=np.int32,
)
_DAY_S, _HOUR_S, _MINUTE_S, _SECOND_US = 86_400, 3_600, 60, 1_000_000
_NO_DAY = -(2**31)
_NO_NUMBER = 100_000
_SAFE_DIGITS = 19  # any 19 digits fit in 64 unsigned bits
_MOST_MINUTES = 2**63 - 1
_ASCII_ZERO, _NOUGHT, _NINE, _TEN = np.uint64(ord("0")), np.uint64(0), np.uint64(9), np.uint64(10)
_DIGIT_ZERO, _DASH, _SPACE, _COLON = ord("0"), ord("-"), ord(" "), ord(":")
_P, _T, _D, _H, _M = (ord(letter) for letter in "PTDHM")


@inline_piece
def _two(buf: Any, p: Any) -> Any:
    """The number of two digits at ``p``, or one so large that no sum made here hides it."""
    # The unsigned index spares the test for one that counts from the end.
    tens = np.uint64(buf[np.uint64(p)]) - _ASCII_ZERO
    ones = np.uint64(buf[np.uint64(p + 1)]) - _ASCII_ZERO
    return np.int64(tens * _TEN + ones) if (tens <= _NINE) & (ones <= _NINE) else np.int64(_NO_NUMBER)


@inline_piece
def _day(buf: Any, p: Any) -> Any:
    """Days since the epoch of the date in the ten bytes at ``p``."""
    year = _two(buf, p) * 100 + _two(buf, p + 2)
    month, day = _two(buf, p + 5), _two(buf, p + 8)
    if (buf[p + 4] != _DASH) | (buf[p + 7] != _DASH) | (year > 9999) | (month > 12):
        return np.int64(_NO_DAY)
    first = np.int64(_YEAR_DAYS[year])
    month += 13 * (np.int64(_YEAR_DAYS[year + 1]) - first - 365)
    if (year < 1) | (day < 1) | (day > _MONTH_DAYS[month]):
        return np.int64(_NO_DAY)
    return first + _DAYS_BEFORE[month] + day - 1


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int32"), STATES)
def _date_kernel(buf: Bytes, start: Starts, length: Lengths, values: npt.NDArray[np.int32], state: States) -> None:
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        if length[i] == 0:
            state[i] = NULL
            continue
        state[i] = BAD
        if length[i] == _DATE_BYTES:
            day = _day(buf, start[i])
            if day != _NO_DAY:
                values[i] = day
                state[i] = PARSED


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int64"), STATES)
def _timestamp_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        if length[i] == 0:
            state[i] = NULL
            continue
        state[i] = BAD
        if length[i] != _TIME_BYTES:
            continue
        p = start[i]
        day = _day(buf, p)
        hour, minute, second = _two(buf, p + 11), _two(buf, p + 14), _two(buf, p + 17)
        marks = (buf[p + 10] == _SPACE) & (buf[p + 13] == _COLON) & (buf[p + 16] == _COLON)
        if marks & (day != _NO_DAY) & (hour <= 23) & (minute <= 59) & (second <= 59):
            values[i] = (day * _DAY_S + hour * _HOUR_S + minute * _MINUTE_S + second) * _SECOND_US
            state[i] = PARSED


@inline_piece
def _part(buf: Any, p: Any, end: Any, letter: Any, unit: Any, minutes: Any) -> Any:
    """``minutes`` with the part ``n<letter>`` added if it stands at ``p``; -1 minutes if it does not fit."""
    first = p
    number = _NOUGHT
    while p < end:
        digit = np.uint64(buf[np.uint64(p)]) - _ASCII_ZERO
        if digit > _NINE:
            break
        number = number * _TEN + digit
        p += 1
    if not first < p < end or buf[p] != letter:
        return minutes, first
    zeros = first
    while p - zeros > _SAFE_DIGITS and buf[zeros] == _DIGIT_ZERO:
        zeros += 1
    if p - zeros > _SAFE_DIGITS or number > np.uint64((_MOST_MINUTES - minutes) // unit):
        return np.int64(-1), p + 1
    return minutes + np.int64(number) * unit, p + 1


@inline_piece
def _minutes(buf: Any, p: Any, end: Any) -> Any:
    """Whole minutes of the duration in ``buf[p:end]``, or -1."""
    if buf[p] != _P:
        return np.int64(-1)
    minutes, q = _part(buf, p + 1, end, _D, np.int64(1440), np.int64(0))
    has_days = q > p + 1
    if q == end and has_days:
        return minutes
    if minutes < 0 or q == end or buf[q] != _T:
        return np.int64(-1)
    first = q + 1
    minutes, q = _part(buf, first, end, _H, np.int64(60), minutes)
    if minutes >= 0:
        minutes, q = _part(buf, q, end, _M, np.int64(1), minutes)
    return minutes if q == end and (q > first or has_days) else np.int64(-1)


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int64"), STATES)
def _duration_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        if length[i] == 0:
            state[i] = NULL
            continue
        minutes = _minutes(buf, start[i], start[i] + length[i])
        if minutes < 0:
            state[i] = BAD
        else:
            values[i] = minutes
            state[i] = PARSED


def dates(buf: Bytes, start: Starts, length: Lengths) -> tuple[npt.NDArray[np.int32], States]:
    """``YYYY-MM-DD``, years 0001 to 9999, as days since 1970-01-01."""
    values, state = np.empty(len(start), np.int32), np.empty(len(start), np.uint8)
    _date_kernel(buf, start, length, values, state)
    return values, state


def timestamps(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``YYYY-MM-DD HH:MM:SS`` as microseconds since 1970-01-01; no leap seconds, no hour 24."""
    values, state = np.empty(len(start), np.int64), np.empty(len(start), np.uint8)
    _timestamp_kernel(buf, start, length, values, state)
    return values, state


def durations(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``P[nD][T[nH][nM]]`` with at least one number, as whole minutes."""
    values, state = np.empty(len(start), np.int64), np.empty(len(start), np.uint8)
    _duration_kernel(buf, start, length, values, state)
    return values, state
