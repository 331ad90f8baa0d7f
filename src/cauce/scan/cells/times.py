"""Parses dates and times in ISO 8601 or a given format. Accepts only dates that exist in the calendar.

Times are in microseconds; further digits of a fraction are dropped. Each cell is parsed on its own: a kernel reports
whether it had an offset, and never guesses a time zone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.cells.cell_kernel import (
    BAD,
    PARSED,
    STATES,
    Bytes,
    Integers,
    Lengths,
    Starts,
    States,
    cell_kernel,
    is_empty,
    parse_cells,
)
from cauce.scan.cells.formatted_times import format_kernel
from cauce.scan.cells.time_fields import (
    BAD_OFFSET,
    CLOCK_FORM,
    DAY_S,
    FIRST_US,
    HAS_OFFSET,
    HOUR_S,
    LAST_US,
    MINUTE_S,
    NO_DAY,
    NO_OFFSET,
    NO_PAIRS,
    SECOND_US,
    day_at,
    fraction,
    pair,
    three_pairs,
    two_digits,
    utc_offset,
)
from cauce.scan.cells.time_formats import FIELDS, TimeFormat
from cauce.scan.native import Array
from cauce.scan.native.kernel import inline_piece

SECONDS_FORMAT = "%Y-%m-%d %H:%M:%S"
"""The only format with its own kernel: the most common in files, and the fastest to parse."""

_DATE_BYTES, _MINUTE_BYTES, _TIME_BYTES, _CLOCK_BYTES = 10, 16, 19, 5
_MICRO_NS = 1_000
_T, _LOWER = ord("T"), 32
_SPACE, _COLON, _POINT, _COMMA = ord(" "), ord(":"), ord("."), ord(",")


@cell_kernel(Array("int32"))
def _date_kernel(buf: Bytes, start: Starts, length: Lengths, values: npt.NDArray[np.int32], state: States) -> None:
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        if length[i] == _DATE_BYTES:
            day = day_at(buf, start[i])
            if day != NO_DAY:
                values[i] = day
                state[i] = PARSED


@cell_kernel(Array("int64"))
def _timestamp_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        if length[i] != _TIME_BYTES:
            continue
        p = start[i]
        day = day_at(buf, p)
        pairs = three_pairs(buf, p + 11, CLOCK_FORM)
        hour, minute, second = pair(pairs, 0), pair(pairs, 24), pair(pairs, 48)
        marks = (buf[np.uint64(p + 10)] == _SPACE) & (pairs != NO_PAIRS)
        if marks & (day != NO_DAY) & (hour <= 23) & (minute <= 59) & (second <= 59):
            values[i] = (day * DAY_S + hour * HOUR_S + minute * MINUTE_S + second) * SECOND_US
            state[i] = PARSED


@inline_piece
def _iso_clock(buf: Any, p: Any, end: Any) -> Any:
    """Microseconds of the time of day at ``p``, at least ``HH:MM``, and its end; -1 if it is invalid."""
    hour, minute, second, micros = two_digits(buf, p), two_digits(buf, p + 3), np.int64(0), np.int64(0)
    if (buf[p + 2] != _COLON) | (hour > 23) | (minute > 59):
        return np.int64(-1), p
    p += 5
    if p < end and buf[p] == _COLON:
        if end - p < 3:
            return np.int64(-1), p
        second = two_digits(buf, p + 1)
        if second > 59:
            return np.int64(-1), p
        p += 3
        if p < end and (buf[p] == _POINT or buf[p] == _COMMA):
            first = p + 1
            micros, p = fraction(buf, first, end)
            if p == first:
                return np.int64(-1), p
    return (hour * HOUR_S + minute * MINUTE_S + second) * SECOND_US + micros, p


@cell_kernel(Array("int64"), STATES)
def _iso_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, offset: States, state: States) -> None:
    """ISO 8601 times, converted to UTC if they have an offset, else unchanged; ``offset`` is set accordingly."""
    for i in range(len(start)):
        values[i] = 0
        offset[i] = NO_OFFSET
        if is_empty(buf, start, length, state, i):
            continue
        p = start[i]
        end = p + length[i]
        if length[i] < _DATE_BYTES:
            continue
        day = day_at(buf, p)
        if day == NO_DAY:
            continue
        if length[i] == _DATE_BYTES:
            values[i] = day * DAY_S * SECOND_US
            state[i] = PARSED
            continue
        mark = buf[p + _DATE_BYTES]
        if length[i] < _MINUTE_BYTES or (mark != _T and mark != _SPACE and mark != _T | _LOWER):
            continue
        clock, rest = _iso_clock(buf, p + _DATE_BYTES + 1, end)
        east, known = utc_offset(buf, rest, end)
        moment = day * DAY_S * SECOND_US + clock - east * SECOND_US
        if clock >= 0 and known != BAD_OFFSET and FIRST_US <= moment <= LAST_US:
            values[i] = moment
            offset[i] = known
            state[i] = PARSED


@cell_kernel(Array("int64"))
def _clock_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        end = start[i] + length[i]
        if length[i] >= _CLOCK_BYTES:
            clock, rest = _iso_clock(buf, start[i], end)
            if clock >= 0 and rest == end:
                values[i] = clock * _MICRO_NS
                state[i] = PARSED


def clocks(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``HH:MM[:SS[.f]]`` as nanoseconds since midnight, in whole microseconds."""
    return parse_cells(_clock_kernel, np.int64, buf, start, length)


def dates(
    buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None
) -> tuple[npt.NDArray[np.int32], States]:
    """``YYYY-MM-DD``, or dates in a format, years 0001 to 9999, as days since 1970-01-01."""
    if form is not None:
        moments, _, state = _moments(buf, start, length, form)
        return (moments // (DAY_S * SECOND_US)).astype(np.int32), state
    return parse_cells(_date_kernel, np.int32, buf, start, length)


def timestamps(buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None) -> tuple[Integers, States]:
    """Times without an offset as microseconds since 1970-01-01; no leap seconds, no hour 24."""
    if form is not None and form.text == SECONDS_FORMAT:
        return parse_cells(_timestamp_kernel, np.int64, buf, start, length)
    values, offset, state = _moments(buf, start, length, form)
    state[offset == HAS_OFFSET] = BAD
    return values, state


def moments(
    buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None = None
) -> tuple[Integers, npt.NDArray[np.bool_], States]:
    """As ``timestamps``: times with an offset in UTC, times without one unchanged; and which have one."""
    values, offset, state = _moments(buf, start, length, form)
    return values, offset == HAS_OFFSET, state


def _moments(buf: Bytes, start: Starts, length: Lengths, form: TimeFormat | None) -> tuple[Integers, States, States]:
    values = np.empty(len(start), np.int64)
    offset, state = np.empty(len(start), np.uint8), np.empty(len(start), np.uint8)
    if form is None:
        _iso_kernel(buf, start, length, values, offset, state)
    else:
        format_kernel(buf, start, length, form.program, np.empty(FIELDS, np.int64), values, offset, state)
    return values, offset, state
