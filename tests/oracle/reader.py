"""Splits the bytes of a CSV file into records, and returns the lines that could not be split.

Python's strict ``csv`` does the splitting. It must never decide what a cell means, nor drop a line silently.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

QUOTED_LIMIT_BYTES = 16 * 1024 * 1024
RAW_CHARACTERS = 500
BROKEN_QUOTING = "broken quoting"

# Text is cut as latin-1, one character a byte, so this character cannot come from the input. It stands for a
# CR without LF: text in our rules, but the end of a record or an error for csv.
_LONE_CR = "\u0100"


@dataclass(frozen=True)
class Record:
    """The cells of one record, and the physical line (the first is 1) on which it starts."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class RecordReject:
    """A record, or a line, that could not be split into the header's number of cells."""

    line: int
    reason: str
    raw: str


@dataclass(frozen=True)
class Sheet:
    """All of one file. A file without any record has an empty header."""

    header: list[str]
    records: list[Record] = field(default_factory=list)
    rejects: list[RecordReject] = field(default_factory=list)


@dataclass(frozen=True)
class _Cut:
    """One record or one fault (``cells`` is None) as latin-1 text, before decoding."""

    line: int
    cells: list[str] | None
    text: str


def read(data: bytes, delimiter: str = ",", quoted_limit_bytes: int = QUOTED_LIMIT_BYTES) -> Sheet:
    """Cut ``data``; the first record is the header, and every other one must have as many cells."""
    cuts = _cuts(_physical_lines(data), delimiter, quoted_limit_bytes)
    first = next(cuts, None)
    if first is None:
        return Sheet(header=[])
    if first.cells is None:
        raise ValueError(f"the header on line {first.line} has broken quoting")
    sheet = Sheet(header=_names(first.cells))
    expected = len(sheet.header)
    for cut in cuts:
        if cut.cells is None:
            sheet.rejects.append(RecordReject(cut.line, BROKEN_QUOTING, shortened(_decoded(cut.text))))
        elif len(cut.cells) != expected:
            reason = f"expected {expected} cells, found {len(cut.cells)}"
            sheet.rejects.append(RecordReject(cut.line, reason, shortened(_decoded(cut.text))))
        else:
            sheet.records.append(Record(cut.line, [_decoded(cell) for cell in cut.cells]))
    return sheet


def shortened(raw: str) -> str:
    """The part of a rejected text that the rejects table keeps."""
    return raw[:RAW_CHARACTERS]


def _physical_lines(data: bytes) -> list[str]:
    text = data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    return list(io.StringIO(re.sub("\r(?!\n)", _LONE_CR, text), newline="\n"))


def _cuts(lines: list[str], delimiter: str, quoted_limit_bytes: int) -> Iterator[_Cut]:
    begin = 0
    while begin < len(lines):
        # A fault leaves csv's reader in the middle of a record, so each fault gets a new reader behind it.
        for cut, following in _cuts_to_fault(lines, begin, delimiter, quoted_limit_bytes):
            begin = following
            if cut is not None:
                yield cut


def _cuts_to_fault(
    lines: list[str], begin: int, delimiter: str, quoted_limit_bytes: int
) -> Iterator[tuple[_Cut | None, int]]:
    """Cuts (None for an empty line), each with the index of the line after it; a fault is the last one."""
    first = begin
    reader = csv.reader((lines[i] for i in range(first, len(lines))), delimiter=delimiter, strict=True)
    while begin < len(lines):
        fault = _Cut(begin + 1, None, _without_end(lines[begin]))
        try:
            with _any_field_size():
                cells = next(reader)
        except csv.Error:
            yield fault, begin + 1
            return
        following = first + reader.line_num
        text = "".join(lines[begin:following])
        if len(text) > quoted_limit_bytes and _longest_quoted(text, delimiter) > quoted_limit_bytes:
            yield fault, begin + 1
            return
        yield (_Cut(begin + 1, cells, _without_end(text)) if cells else None), following
        begin = following


def _longest_quoted(text: str, delimiter: str) -> int:
    """Bytes between the quotes of the longest quoted cell of a well-formed record, as they stand there."""
    longest = 0
    at = 0
    while at < len(text):
        if text[at] == '"':
            begin = at = at + 1
            while text[at] != '"' or text[at + 1 : at + 2] == '"':
                at += 2 if text[at] == '"' else 1
            longest = max(longest, at - begin)
        while at < len(text) and text[at] != delimiter:
            at += 1
        at += 1
    return longest


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Lift csv's own limit, which counts other things than ours and is global to the process."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _names(cells: list[str]) -> list[str]:
    """UTF-8, or Windows-1252 if a name is not UTF-8."""
    raw = [cell.replace(_LONE_CR, "\r").encode("latin-1") for cell in cells]
    try:
        return [cell.decode() for cell in raw]
    except UnicodeDecodeError:
        return [cell.decode("cp1252", "replace") for cell in raw]


def _decoded(text: str) -> str:
    if text.isascii():
        return text
    return text.replace(_LONE_CR, "\r").encode("latin-1").decode("utf-8", errors="replace")
