"""Generates the files: the same rows each time, and one kind of damage in each file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.reading import COLUMNS, DAMAGED, INTACT

ROWS = 500_000
"""At scale 1: some 30 MB."""

EVERY = 1_000
"""One of so many rows is damaged."""

LATE = 80_000
"""From this row on, the amounts of one file are decimals: beyond what programs sample to infer a type."""

CITIES = ("Bogotá", "Lima", "Quito", "La Paz", "Santiago", "Asunción", "Montevideo")
Line = Callable[[int, str, str], bytes]
"""The line of a row, from its number, its status and its amount."""


@dataclass(frozen=True)
class Case:
    """A kind of damage. `damaged` makes the line of a damaged row, `intact` that of the others."""

    name: str
    damaged: Line
    intact: Line
    prefix: bytes = b""
    """In front of the header."""


@dataclass(frozen=True)
class File:
    """A generated file, and what a program must find in it."""

    case: str
    folder: Path
    rows: int
    """Intact rows."""
    cents: int
    """The sum of their amounts."""
    damaged: int


def plain(number: int, status: str, amount: str) -> bytes:
    return _line(number, status, amount, f"name {number % 9973}", f"a plain note from {CITIES[number % 7]}")


def _line(number: int, status: str, amount: str, name: str, note: str) -> bytes:
    day = f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}"
    return f"{number},{status},{amount},{name},{day},{note}\n".encode()


def _quoted(number: int, status: str, amount: str) -> bytes:
    return _line(number, status, amount, f'"name, {number % 9973}"', f"a plain note from {CITIES[number % 7]}")


def _with_line_end(number: int, status: str, amount: str) -> bytes:
    return _line(number, status, amount, f'"name, {number % 9973}"', '"a note\nof ""two"" lines"')


def _two_line_ends(number: int, status: str, amount: str) -> bytes:
    line = plain(number, status, amount)
    return line[:-1] + b"\r\n" if number % 2 else line


def _late_decimals(number: int, status: str, amount: str) -> bytes:
    """Whole numbers up to a late row, decimals from there on."""
    return plain(number, status, amount if number > LATE else amount.partition(".")[0])


def _replacing(old: bytes, new: bytes) -> Line:
    return lambda number, status, amount: plain(number, status, amount).replace(old, new)


CASES = (
    Case("no damage", plain, plain),
    Case("quoted cells with line ends", _with_line_end, _quoted),
    Case("a quote within an unquoted cell", _replacing(b"a plain", b'a 5" plain'), plain),
    Case("text after a closing quote", _replacing(b"a plain note", b'"a plain"x note'), _quoted),
    Case("a quote that is never closed", _replacing(b",name", b',"name'), plain),
    Case("missing cells", lambda number, status, amount: f"{number},{status},{amount}\n".encode(), plain),
    Case("too many cells", _replacing(b"a plain", b"a,b,c"), plain),
    Case("texts in a column of numbers", lambda number, status, _: plain(number, status, "n/a"), plain),
    Case("bytes that are not UTF-8", _replacing(b"a plain", b"a \xff\xfe plain"), plain),
    Case("zero bytes", _replacing(b"a plain", b"a \0 plain"), plain),
    Case("two kinds of line ends, empty lines", _replacing(b"\n", b"\n\n\r\n"), _two_line_ends),
    Case("decimals after 80,000 whole numbers", _late_decimals, _late_decimals, b"\xef\xbb\xbf"),
)


def generated(cache: Path, case: Case, rows: int) -> File:
    """The file `visits.csv` in a folder of its own, generated unless cached."""
    numbered = [(number, DAMAGED if number % EVERY == EVERY // 2 else INTACT) for number in range(rows)]
    folder = cache / f"reading-{rows}" / case.name.replace(" ", "-")
    if not folder.is_dir():
        # Renamed when complete: a cached folder is never partial.
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        (unfinished / "visits.csv").write_bytes(b"".join(_lines(case, numbered)))
        unfinished.rename(folder)
    intact = [number for number, status in numbered if status == INTACT]
    cents = sum(_cents(number, whole=case.intact is _late_decimals and number <= LATE) for number in intact)
    return File(case.name, folder, len(intact), cents, rows - len(intact))


def _lines(case: Case, numbered: list[tuple[int, str]]) -> Iterator[bytes]:
    yield case.prefix + ",".join(COLUMNS).encode() + b"\n"
    for number, status in numbered:
        cents = _cents(number)
        amount = f"{cents // 100}.{cents % 100:02}"
        yield (case.intact if status == INTACT else case.damaged)(number, status, amount)


def _cents(number: int, whole: bool = False) -> int:
    cents = number * 37 % 100_000 + 1
    return cents // 100 * 100 if whole else cents
