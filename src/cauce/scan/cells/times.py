"""Parses dates, times and durations in ISO 8601 or a given format. Accepts only dates that exist in the calendar.

Times are in microseconds; further digits of a fraction are dropped. Each cell is parsed on its own: a kernel reports
whether it had an offset, and never guesses a time zone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.cells.cell_kernel import (
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
from cauce.scan.cells.time_formats import (
    AFTERNOON,
    DAY,
    FIELDS,
    FRACTION,
    HALF,
    HOUR,
    LITERAL,
    MINUTE,
    MONTH,
    MONTH_NAME,
    NUMBER,
    SECOND,
    SHORT_YEAR,
    YEAR,
    TimeFormat,
)
from cauce.scan.native import VOID, Array, kernel
from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import prefetch

SECONDS_FORMAT = "%Y-%m-%d %H:%M:%S"
"""The only format with its own kernel: the most common in files, and the fastest to parse."""

_DATE_BYTES, _MINUTE_BYTES, _TIME_BYTES, _CLOCK_BYTES = 10, 16, 19, 5
_MICRO_NS = 1_000
# Days per month, index 0 unused, of an ordinary year and then of a leap year.
_MONTH_DAYS = np.array([[0, 31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] for leap in (0, 1)])
_DAYS_BEFORE = (np.cumsum(_MONTH_DAYS, axis=1) - _MONTH_DAYS).ravel()
_MONTH_DAYS = _MONTH_DAYS.ravel()
# First day of each year since the epoch: a lookup saves several divisions.
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
_POINT, _COMMA, _PLUS, _Z, _LOWER = ord("."), ord(","), ord("+"), ord("z"), 32
_U, _C, _A = ord("U"), ord("C"), ord("a")
_NO_OFFSET, _HAS_OFFSET, _BAD_OFFSET = 0, 1, 2
_MOST_FRACTION_DIGITS = 9
_FRACTION_US = np.array([10 ** max(6 - digits, 0) for digits in range(10)])
_DROPPED = np.array([10 ** max(digits - 6, 0) for digits in range(10)])
_FIRST_US, _LAST_US = -719_162 * 86_400_000_000, 2_932_897 * 86_400_000_000 - 1  # years 0001 to 9999
_MONTH_NAMES = np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", np.uint8)
_FIRST_SHORT_YEAR = 69  # as POSIX has it: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068


@inline_piece
def _two(buf: Any, p: Any) -> Any:
    """The number of two digits at ``p``, or a value so large that every sum of it here is out of range."""
    # An unsigned index avoids the check for negative indexes.
    tens = np.uint64(buf[np.uint64(p)]) - _ASCII_ZERO
    ones = np.uint64(buf[np.uint64(p + 1)]) - _ASCII_ZERO
    return np.int64(tens * _TEN + ones) if (tens <= _NINE) & (ones <= _NINE) else np.int64(_NO_NUMBER)


@inline_piece
def _day(buf: Any, p: Any) -> Any:
    """Days since the epoch of the date in the ten bytes at ``p``."""
    year = _two(buf, p) * 100 + _two(buf, p + 2)
    month, day = _two(buf, p + 5), _two(buf, p + 8)
    if (buf[p + 4] != _DASH) | (buf[p + 7] != _DASH):
        return np.int64(_NO_DAY)
    return _day_number(year, month, day)


@inline_piece
def _day_number(year: Any, month: Any, day: Any) -> Any:
    """Days since the epoch, or ``_NO_DAY`` for a day that is not in the calendar. No argument is negative."""
    if (year > 9999) | (month > 12):
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
def _fraction(buf: Any, p: Any, end: Any) -> Any:
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
def _offset(buf: Any, p: Any, end: Any) -> Any:
    """The UTC offset in ``buf[p:end]`` in seconds, and whether it is an offset, empty, or invalid."""
    if p == end:
        return np.int64(0), _NO_OFFSET
    if buf[p] == _SPACE:
        p += 1
    size = end - p
    if size == 1 and buf[p] | _LOWER == _Z:
        return np.int64(0), _HAS_OFFSET
    if size == 3 and (buf[p] == _U) & (buf[p + 1] == _T) & (buf[p + 2] == _C):
        return np.int64(0), _HAS_OFFSET
    if size < 3 or (buf[p] != _PLUS and buf[p] != _DASH):
        return np.int64(0), _BAD_OFFSET
    hours, minutes = _two(buf, p + 1), np.int64(0)
    if size == 5:
        minutes = _two(buf, p + 3)
    elif size == 6 and buf[p + 3] == _COLON:
        minutes = _two(buf, p + 4)
    elif size != 3:
        return np.int64(0), _BAD_OFFSET
    if (hours > 23) | (minutes > 59):
        return np.int64(0), _BAD_OFFSET
    seconds = hours * _HOUR_S + minutes * _MINUTE_S
    return (-seconds if buf[p] == _DASH else seconds), _HAS_OFFSET


@inline_piece
def _iso_clock(buf: Any, p: Any, end: Any) -> Any:
    """Microseconds of the time of day at ``p``, at least ``HH:MM``, and its end; -1 if it is invalid."""
    hour, minute, second, micros = _two(buf, p), _two(buf, p + 3), np.int64(0), np.int64(0)
    if (buf[p + 2] != _COLON) | (hour > 23) | (minute > 59):
        return np.int64(-1), p
    p += 5
    if p < end and buf[p] == _COLON:
        if end - p < 3:
            return np.int64(-1), p
        second = _two(buf, p + 1)
        if second > 59:
            return np.int64(-1), p
        p += 3
        if p < end and (buf[p] == _POINT or buf[p] == _COMMA):
            first = p + 1
            micros, p = _fraction(buf, first, end)
            if p == first:
                return np.int64(-1), p
    return (hour * _HOUR_S + minute * _MINUTE_S + second) * _SECOND_US + micros, p


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int64"), STATES, STATES)
def _iso_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, offset: States, state: States) -> None:
    """ISO 8601 times, converted to UTC if they have an offset, else unchanged; ``offset`` says which."""
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        offset[i] = _NO_OFFSET
        if length[i] == 0:
            state[i] = NULL
            continue
        state[i] = BAD
        p = start[i]
        end = p + length[i]
        if length[i] < _DATE_BYTES:
            continue
        day = _day(buf, p)
        if day == _NO_DAY:
            continue
        if length[i] == _DATE_BYTES:
            values[i] = day * _DAY_S * _SECOND_US
            state[i] = PARSED
            continue
        mark = buf[p + _DATE_BYTES]
        if length[i] < _MINUTE_BYTES or (mark != _T and mark != _SPACE and mark != _T | _LOWER):
            continue
        clock, rest = _iso_clock(buf, p + _DATE_BYTES + 1, end)
        east, known = _offset(buf, rest, end)
        moment = day * _DAY_S * _SECOND_US + clock - east * _SECOND_US
        if clock >= 0 and known != _BAD_OFFSET and _FIRST_US <= moment <= _LAST_US:
            values[i] = moment
            offset[i] = known
            state[i] = PARSED


@inline_piece
def _number(buf: Any, p: Any, end: Any, least: Any, most: Any) -> Any:
    """The number of ``least`` to ``most`` digits at ``p``, and its end; -1 if there are too few."""
    first, number = p, np.int64(0)
    while p < end and p - first < most:
        digit = np.int64(buf[np.uint64(p)]) - _DIGIT_ZERO
        if (digit < 0) | (digit > 9):
            break
        number = number * 10 + digit
        p += 1
    return (number if p - first >= least else np.int64(-1)), p


@inline_piece
def _month_named(buf: Any, p: Any, end: Any) -> Any:
    """The number of the month whose first three letters are at ``p``, or -1."""
    if end - p >= 3:
        for month in range(12):
            same = True
            for letter in range(3):
                same &= buf[p + letter] | _LOWER == _MONTH_NAMES[3 * month + letter]
            if same:
                return np.int64(month + 1)
    return np.int64(-1)


@inline_piece
def _half_of_day(buf: Any, p: Any, end: Any) -> Any:
    """0 for AM, 1 for PM, in upper or lower case, else -1."""
    if end - p < 2 or buf[p + 1] | _LOWER != _M | _LOWER:
        return np.int64(-1)
    if buf[p] | _LOWER == _A:
        return np.int64(0)
    return np.int64(1) if buf[p] | _LOWER == _P | _LOWER else np.int64(-1)


@inline_piece
def _run_step(buf: Any, p: Any, end: Any, step: Any, fields: Any) -> Any:
    """Runs one step of a format and stores its value. Returns the offset after it; -1 if the cell does not match."""
    what, field = step[0], step[1]
    if what == LITERAL:
        return p + 1 if p < end and buf[p] == field else np.int64(-1)
    value, rest = np.int64(-1), p
    if what == NUMBER and field == FRACTION:
        value, rest = _fraction(buf, p, end)
        if rest == p:
            value = np.int64(-1)
    elif what == NUMBER:
        value, rest = _number(buf, p, end, step[2], step[3])
    elif what == SHORT_YEAR:
        value, rest = _number(buf, p, end, 2, 2)
        if value >= 0:
            value += 1900 if value >= _FIRST_SHORT_YEAR else 2000
    elif what == MONTH_NAME:
        value, rest = _month_named(buf, p, end), p + 3
    elif what == HALF:
        value, rest = _half_of_day(buf, p, end), p + 2
    if value < 0:
        return np.int64(-1)
    fields[field] = value
    return rest


@inline_piece
def _moment_of(fields: Any) -> Any:
    """Microseconds of the time in ``fields``, and whether it exists. An ``AFTERNOON`` of -1 means 24 hours."""
    hour = fields[HOUR]
    if fields[AFTERNOON] >= 0:
        if (hour < 1) | (hour > 12):
            return np.int64(0), False
        hour = hour % 12 + 12 * fields[AFTERNOON]
    day = _day_number(fields[YEAR], fields[MONTH], fields[DAY])
    exists = (day != _NO_DAY) & (hour <= 23) & (fields[MINUTE] <= 59) & (fields[SECOND] <= 59)
    seconds = day * _DAY_S + hour * _HOUR_S + fields[MINUTE] * _MINUTE_S + fields[SECOND]
    return seconds * _SECOND_US + fields[FRACTION], exists


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int32", 2, read=True), Array("int64"), Array("int64"), STATES, STATES)
def _format_kernel(
    buf: Bytes,
    start: Starts,
    length: Lengths,
    program: npt.NDArray[np.int32],
    fields: Integers,
    values: Integers,
    offset: States,
    state: States,
) -> None:
    """As ``_iso_kernel``, for cells in a given format. An offset is allowed only at the end."""
    steps = len(program)
    zoned = steps > 0 and program[steps - 1, 0] > HALF
    if zoned:
        steps -= 1
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        offset[i] = _NO_OFFSET
        if length[i] == 0:
            state[i] = NULL
            continue
        state[i] = BAD
        for field in range(FIELDS):
            fields[field] = 0
        fields[AFTERNOON] = -1
        p = start[i]
        end = p + length[i]
        step = 0
        while step < steps and p >= 0:
            p = _run_step(buf, p, end, program[step], fields)
            step += 1
        if p < 0 or (p != end and not zoned) or (p == end and zoned):
            continue
        east, known = _offset(buf, p, end)
        moment, exists = _moment_of(fields)
        moment -= east * _SECOND_US
        if exists and known != _BAD_OFFSET and _FIRST_US <= moment <= _LAST_US:
            values[i] = moment
            offset[i] = known
            state[i] = PARSED


@inline_piece
def _part(buf: Any, p: Any, end: Any, letter: Any, unit: Any, minutes: Any) -> Any:
    """``minutes`` plus the component ``n<letter>`` if it is at ``p``; -1 minutes if it overflows."""
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


@kernel(VOID, BYTES, STARTS, LENGTHS, Array("int64"), STATES)
def _clock_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    last = len(start) - 1
    for i in range(len(start)):
        prefetch(buf, start[min(i + AHEAD, last)])
        values[i] = 0
        if length[i] == 0:
            state[i] = NULL
            continue
        state[i] = BAD
        end = start[i] + length[i]
        if length[i] >= _CLOCK_BYTES:
            clock, rest = _iso_clock(buf, start[i], end)
            if clock >= 0 and rest == end:
                values[i] = clock * _MICRO_NS
                state[i] = PARSED


def clocks(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``HH:MM[:SS[.f]]`` as nanoseconds since midnight, in whole microseconds."""
    values, state = np.empty(len(start), np.int64), np.empty(len(start), np.uint8)
    _clock_kernel(buf, start, length, values, state)
    return values, state


def dates(
    buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None
) -> tuple[npt.NDArray[np.int32], States]:
    """``YYYY-MM-DD``, or dates in a format, years 0001 to 9999, as days since 1970-01-01."""
    if form is not None:
        moments, _, state = _moments(buf, start, length, form)
        return (moments // (_DAY_S * _SECOND_US)).astype(np.int32), state
    values, state = np.empty(len(start), np.int32), np.empty(len(start), np.uint8)
    _date_kernel(buf, start, length, values, state)
    return values, state


def timestamps(buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None) -> tuple[Integers, States]:
    """Times without an offset as microseconds since 1970-01-01; no leap seconds, no hour 24."""
    if form is not None and form.text == SECONDS_FORMAT:
        values, state = np.empty(len(start), np.int64), np.empty(len(start), np.uint8)
        _timestamp_kernel(buf, start, length, values, state)
        return values, state
    values, offset, state = _moments(buf, start, length, form)
    state[offset == _HAS_OFFSET] = BAD
    return values, state


def moments(
    buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None
) -> tuple[Integers, npt.NDArray[np.bool_], States]:
    """As ``timestamps``: times with an offset in UTC, times without one unchanged; and which have one."""
    values, offset, state = _moments(buf, start, length, form)
    return values, offset == _HAS_OFFSET, state


def _moments(buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None) -> tuple[Integers, States, States]:
    values = np.empty(len(start), np.int64)
    offset, state = np.empty(len(start), np.uint8), np.empty(len(start), np.uint8)
    if form is None:
        _iso_kernel(buf, start, length, values, offset, state)
    else:
        _format_kernel(buf, start, length, form.program, np.empty(FIELDS, np.int64), values, offset, state)
    return values, offset, state


def durations(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``P[nD][T[nH][nM]]`` with at least one number, as whole minutes."""
    values, state = np.empty(len(start), np.int64), np.empty(len(start), np.uint8)
    _duration_kernel(buf, start, length, values, state)
    return values, state
