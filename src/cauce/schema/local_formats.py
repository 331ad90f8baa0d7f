"""Recognises numbers and dates that are written as in one country, such as 1.234,56 and 31.12.2024, in columns of
text, and text that is not UTF-8. No type reads these cells, because another country reads the same ones in another
way: SQL converts them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

_FEW = 50
_WORD_BYTES = 30
_UTF8_CHARACTER = re.compile(rb"[\xc3-\xd4][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|[\xf1-\xf4][\x80-\xbf]{3}")
"""A letter beyond ASCII in UTF-8. In Windows-1252 these bytes are capital letters before signs, which is rare."""
_MOST = 0.9
"""The share of the values that must have the form."""


@dataclass(frozen=True)
class LocalFormat:
    """How the cells of a column are written, one of them, and the SQL that converts them; `{}` is the column."""

    words: str
    example: str
    sql: str


_NUMBERS = (
    ("decimal commas", r"^-?[0-9]+,([0-9]{1,9})$", "replace({}, ',', '.')"),
    (
        "decimal commas and dots between thousands",
        r"^-?[0-9]{1,3}(?:\.[0-9]{3})*(?:,([0-9]{1,9}))?$",
        "replace(replace({}, '.', ''), ',', '.')",
    ),
    ("commas between thousands", r"^-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.([0-9]{1,9}))?$", "replace({}, ',', '')"),
)
_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
_DATE = r"^(?:[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2})$"


def local_format(values: pl.Series) -> LocalFormat | None:
    """The format of most different values of a text column; None if they have none of those that are known here."""
    return _numbers(values) or _dates(values)


def _numbers(values: pl.Series) -> LocalFormat | None:
    for words, pattern, sql in _NUMBERS:
        if _share(values, pattern):
            fitting = values.filter(values.str.contains(pattern))
            scale = max(fitting.str.extract(pattern).str.len_bytes().fill_null(0).to_list())
            function = "CAST" if len(fitting) == len(values) else "TRY_CAST"
            return LocalFormat(words, fitting[0], f"{function}({sql} AS DECIMAL(18,{scale}))")
    return None


def _dates(values: pl.Series) -> LocalFormat | None:
    if not _share(values, _DATE):
        return None
    fitting = values.filter(values.str.contains(_DATE))
    read = {form: fitting.str.to_date(form, strict=False).count() for form in _DATES}
    form = max(read, key=lambda each: read[each])
    if read[form] < len(values) * _MOST:
        return None
    function = "strptime" if read[form] == len(values) else "try_strptime"
    return LocalFormat(f"dates in the format {form}", fitting[0], f"CAST({function}({{}}, '{form}') AS DATE)")


def mixes_encodings(pieces: Iterable[bytes]) -> bool:
    """Whether text that is not UTF-8 stands beside characters that are, so that no one encoding reads all of it."""
    return any(_UTF8_CHARACTER.search(piece) for piece in pieces)


def garbled_text(pieces: Iterable[bytes]) -> str | None:
    """How the first word that is not UTF-8 reads in Windows-1252, and here; None if all text is UTF-8."""
    for piece in pieces:
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            start = max(error.start - _WORD_BYTES, 0)
            before = re.split(rb"[^\w\x80-\xff]", piece[start : error.start])[-1]
            after = re.split(rb"[^\w\x80-\xff]", piece[error.start : error.start + _WORD_BYTES])[0]
            word = before + after
            meant, read = (word.decode(name, "replace") for name in ("cp1252", "utf-8"))
            return f"{meant!r} in Windows-1252 is read as {read!r}"
    return None


def _share(values: pl.Series, pattern: str) -> bool:
    """Whether most values match. The first ones, which Python compares faster than Polars, show it of most columns."""
    first = values.head(_FEW).to_list()
    if not first or sum(bool(re.match(pattern, each)) for each in first) < len(first) * _MOST:
        return False
    return int(values.str.contains(pattern).sum()) >= len(values) * _MOST
