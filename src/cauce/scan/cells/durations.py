"""Parses ISO 8601 durations of days, hours and minutes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cauce.scan.cells.cell_kernel import (
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
from cauce.scan.native import Array
from cauce.scan.native.kernel import inline_piece

_SAFE_DIGITS = 19  # any 19 digits fit in 64 unsigned bits
_MOST_MINUTES = 2**63 - 1
_ASCII_ZERO, _NOUGHT, _NINE, _TEN = np.uint64(ord("0")), np.uint64(0), np.uint64(9), np.uint64(10)
_DIGIT_ZERO = ord("0")
_P, _T, _D, _H, _M = (ord(letter) for letter in "PTDHM")


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


@cell_kernel(Array("int64"))
def _duration_kernel(buf: Bytes, start: Starts, length: Lengths, values: Integers, state: States) -> None:
    for i in range(len(start)):
        values[i] = 0
        if is_empty(buf, start, length, state, i):
            continue
        minutes = _minutes(buf, start[i], start[i] + length[i])
        if minutes >= 0:
            values[i] = minutes
            state[i] = PARSED


def durations(buf: Bytes, start: Starts, length: Lengths) -> tuple[Integers, States]:
    """``P[nD][T[nH][nM]]`` with at least one number, as whole minutes."""
    return parse_cells(_duration_kernel, np.int64, buf, start, length)
