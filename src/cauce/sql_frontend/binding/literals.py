"""Literals: numbers, and intervals of months, days and microseconds."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from cauce.sql_frontend.functions.time_kernels import UNITS, unit_named
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Constant
from cauce.sql_frontend.types import DOUBLE, INTERVAL, MOST_DIGITS, decimal, integer_of

_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*(?:,|and)?", re.IGNORECASE)
_CLOCK = re.compile(r"\s*([+-])?(\d+):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?\s*")


def number_constant(text: str, where: int) -> Constant:
    plain = text.replace("_", "")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain):
        raise StatementError(f"{text} is not a number", where)
    if "e" in plain.lower():
        return Constant(DOUBLE, float(plain), True, at=where)
    if "." not in plain:
        value = int(plain)
        kind = integer_of(value)
        return Constant(kind, float(value) if kind == DOUBLE else value, True, at=where)
    scale = len(plain.partition(".")[2])
    precision = max(len(plain) - 1, 1)
    if precision > MOST_DIGITS:
        return Constant(DOUBLE, float(plain), True, at=where)
    return Constant(decimal(precision, scale), Decimal(plain), True, at=where)


def interval_constant(text: str, unit: exp.Expr | None, where: int) -> Constant:
    """`3 month`, `'3 months 2 days'` or `'01:30:00'` as an interval."""
    written = f"{text} {unit.name}" if unit is not None else text
    total = [0, 0, 0]
    rest = written
    while rest.strip():
        rest = _add_part(total, rest, where)
    return Constant(INTERVAL, tuple(total), at=where)


def _add_part(total: list[int], text: str, where: int) -> str:
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        seconds = int(clock[2]) * 3600 + int(clock[3]) * 60 + int(clock[4] or 0)
        micros = seconds * 1_000_000 + int((clock[5] or "").ljust(6, "0") or 0)
        total[2] += -micros if clock[1] == "-" else micros
        return ""
    found = _PART.match(text)
    unit = unit_named(found[2]) if found is not None else None
    if found is None or unit is None:
        raise StatementError(
            f"INTERVAL '{text.strip()}' is not valid; write INTERVAL 3 MONTH or INTERVAL '2 days 3 hours'", where
        )
    number = Decimal(found[1])
    for index, size in enumerate(UNITS[unit]):
        total[index] += int(number * size)
    return text[found.end() :]
