"""Parsers of cells, one for each kind, in plain Python.

A parser gets a cell that is not null, and raises ``ValueError`` where the text is not of its kind.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa

Value: TypeAlias = str | int | float | Decimal | date | list[str]

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
WHOLE_DIGITS = 17
DECIMAL_DIGITS = 18

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_IDENTIFIER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?|[+-]?\.(0)0*")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})")
_DURATION = re.compile(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?)?")


@dataclass(frozen=True)
class Kind:
    """How a cell is read, the column type it is stored as, and the reason in the rejects table if it fails."""

    parse: Callable[[str], Value]
    stored_as: pa.DataType
    reason: str


def _int64(text: str) -> int:
    sign = "-" if text.startswith("-") else ""
    digits = text.lstrip("+-").lstrip("0") or "0"
    # The length first: Python refuses to convert thousands of digits, and 19 are all that can fit.
    if len(digits) > 19 or not INT64_MIN <= int(sign + digits) <= INT64_MAX:
        raise ValueError("outside 64 bits")
    return int(sign + digits)


def _number(text: str) -> tuple[str, str, str]:
    """Sign, whole digits and decimals of a plain number, without the zeros that do not matter."""
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError("not a number")
    return match[1], match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")


def parse_text(text: str) -> str:
    return text


def parse_integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("not an integer")
    return _int64(text)


def parse_identifier(text: str) -> int:
    match = _IDENTIFIER.fullmatch(text)
    if match is None:
        raise ValueError("not an integer id")
    return _int64(match[1] or match[2])


def parse_decimal(text: str) -> Decimal:
    sign, whole, decimals = _number(text)
    if len(whole) > WHOLE_DIGITS or len(decimals) > DECIMAL_DIGITS:
        raise ValueError("too many digits")
    return Decimal(f"{sign}{whole}.{decimals or 0}")


def parse_cents(text: str) -> int:
    sign, whole, decimals = _number(text)
    if len(decimals) > 2:
        raise ValueError("too many decimals")
    return _int64(f"{sign}{whole}{decimals:0<2}")


def parse_float(text: str) -> float:
    _number(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("outside float64")
    return value


def parse_date(text: str) -> date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("not a date")
    year, month, day = map(int, match.groups())
    return date(year, month, day)


def parse_timestamp(text: str) -> datetime:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError("not a time")
    year, month, day, hour, minute, second = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second)


def parse_duration_min(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError("not a duration")
    days, hours, minutes = (_int64(number or "0") for number in match.groups())
    return _int64(str((days * 24 + hours) * 60 + minutes))


def _literal_list(text: str) -> list[object]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape such as '\d' is text, not worth a warning
            literal = ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a literal") from error
    if not isinstance(literal, list):
        raise ValueError("not a list")
    return literal


def _unicode(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    value.encode()  # a lone surrogate, written as an escape, is no text: UnicodeEncodeError is a ValueError
    return value


def parse_text_list(text: str) -> list[str]:
    return [_unicode(element) for element in _literal_list(text)]


def parse_names(text: str) -> list[str]:
    names = []
    for entry in _literal_list(text):
        if not isinstance(entry, dict):
            raise ValueError("not an entry")
        names.append(_unicode(entry.get("name")))
    return names


_TEXTS = pa.list_(pa.string())

TEXT = Kind(parse_text, pa.string(), "not text")
INTEGER = Kind(parse_integer, pa.int64(), "not an integer")
IDENTIFIER = Kind(parse_identifier, pa.int64(), "not an integer id")
DECIMAL = Kind(parse_decimal, pa.decimal128(38, DECIMAL_DIGITS), "not a number")
CENTS = Kind(parse_cents, pa.int64(), "not a number with that many decimals")
FLOAT = Kind(parse_float, pa.float64(), "not a number")
DATE = Kind(parse_date, pa.date32(), "not a date (YYYY-MM-DD)")
TIMESTAMP = Kind(parse_timestamp, pa.timestamp("us"), "not a time (YYYY-MM-DD HH:MM:SS)")
DURATION = Kind(parse_duration_min, pa.int64(), "not a duration (P[nD][T[nH][nM]])")
TEXT_LIST = Kind(parse_text_list, _TEXTS, "not a list of texts")
NAMES = Kind(parse_names, _TEXTS, "not a list of entries with that field")
