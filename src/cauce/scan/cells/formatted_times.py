"""Parses dates and times in a format such as `%d.%m.%Y %H:%M`, as the steps of a `TimeFormat`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.cells.cell_kernel import (
    PARSED,
    STATES,
    Bytes,
    Integers,
    Lengths,
    Starts,
    States,
    cell_kernel,
    is_empty,
)
from cauce.scan.cells.time_fields import (
    BAD_OFFSET,
    DAY_S,
    FIRST_US,
    HOUR_S,
    LAST_US,
    MINUTE_S,
    NO_DAY,
    NO_OFFSET,
    SECOND_US,
    day_number,
    fraction,
    utc_offset,
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
)
from cauce.scan.native import Array
from cauce.scan.native.kernel import inline_piece

_DIGIT_ZERO, _A, _P, _M, _LOWER = ord("0"), ord("a"), ord("p"), ord("m"), 32
_MONTH_NAMES = np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", np.uint8)
_FIRST_SHORT_YEAR = 69  # as POSIX has it: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068


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
    if end - p < 2 or buf[p + 1] | _LOWER != _M:
        return np.int64(-1)
    if buf[p] | _LOWER == _A:
        return np.int64(0)
    return np.int64(1) if buf[p] | _LOWER == _P else np.int64(-1)


@inline_piece
def _run_step(buf: Any, p: Any, end: Any, step: Any, fields: Any) -> Any:
    """Runs one step of a format and stores its value. Returns the offset after it; -1 if the cell does not match."""
    what, field = step[0], step[1]
    if what == LITERAL:
        return p + 1 if p < end and buf[p] == field else np.int64(-1)
    value, rest = np.int64(-1), p
    if what == NUMBER and field == FRACTION:
        value, rest = fraction(buf, p, end)
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
    day = day_number(fields[YEAR], fields[MONTH], fields[DAY])
    exists = (day != NO_DAY) & (hour <= 23) & (fields[MINUTE] <= 59) & (fields[SECOND] <= 59)
    seconds = day * DAY_S + hour * HOUR_S + fields[MINUTE] * MINUTE_S + fields[SECOND]
    return seconds * SECOND_US + fields[FRACTION], exists


@cell_kernel(Array("int32", 2, read=True), Array("int64"), Array("int64"), STATES)
def format_kernel(
    buf: Bytes,
    start: Starts,
    length: Lengths,
    program: npt.NDArray[np.int32],
    fields: Integers,
    values: Integers,
    offset: States,
    state: States,
) -> None:
    """Times converted to UTC if they have an offset, else unchanged; ``offset`` is set accordingly.

    An offset is allowed only at the end."""
    steps = len(program)
    zoned = steps > 0 and program[steps - 1, 0] > HALF
    if zoned:
        steps -= 1
    for i in range(len(start)):
        values[i] = 0
        offset[i] = NO_OFFSET
        if is_empty(buf, start, length, state, i):
            continue
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
        east, known = utc_offset(buf, p, end)
        moment, exists = _moment_of(fields)
        moment -= east * SECOND_US
        if exists and known != BAD_OFFSET and FIRST_US <= moment <= LAST_US:
            values[i] = moment
            offset[i] = known
            state[i] = PARSED
