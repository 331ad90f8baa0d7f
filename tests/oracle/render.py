"""Prints values and rows the way the contract's CSV results do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Cell: TypeAlias = str | int | float | date | list[str] | None
Row: TypeAlias = tuple[Cell, ...]


def fixed(value: Decimal | Fraction | int, places: int) -> str:
    """``value`` with exactly ``places`` decimals, rounded half-even from its exact value."""
    units = round(Fraction(value) * 10**places)  # rounding a Fraction is half-even
    digits = str(abs(units)).rjust(places + 1, "0")
    return f"{'-' if units < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def cents(value: int) -> str:
    return fixed(Fraction(value, 100), 2)


def plain(value: Decimal) -> str:
    """An exact decimal without trailing zeros and without an exponent."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def csv_bytes(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    lines = [columns, *rows]
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines).encode()


def _quoted(cell: Cell) -> str:
    text = _text(cell)
    # By hand, as csv.writer leaves a lone CR bare in some versions of Python; RFC 4180 wants it quoted.
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, list):
        return "; ".join(cell)
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)
