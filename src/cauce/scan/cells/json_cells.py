"""Validates JSON cells and extracts the value at a path as the text of the equivalent CSV cell.

Strings lose their quotes, numbers keep their digits, objects and arrays stay JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.cells.cell_kernel import Bytes, Lengths, Starts
from cauce.scan.cells.kinds import FieldList, Json, Kind, Text, TextList

INVALID = "@"
"""Prefix that makes a text unreadable for all kinds but ``Text``: an unexpected object or array."""

_SPACE = b" \t\r\n"
_VALUE = msgspec.json.Decoder(msgspec.Raw)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)
_encoder = msgspec.json.Encoder(decimal_format="number")


def json_object(line: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of an object, with undecoded values; None if the line is not an object."""
    try:
        return _OBJECT.decode(line)
    except _ERRORS:
        return None


def json_texts(kind: Json, cells: Sequence[bytes | None]) -> tuple[pl.Series, npt.NDArray[np.bool_]]:
    """The texts at the kind's path, and which cells are not valid JSON. A cell that is None or empty is null."""
    texts: list[str | None] = []
    bad = np.zeros(len(cells), np.bool_)
    for row, cell in enumerate(cells):
        try:
            texts.append(_text_at(cell, kind) if cell else None)
        except _ERRORS:
            texts.append(None)
            bad[row] = True
    return pl.Series(texts, dtype=pl.String), bad


def cells_of(buf: Bytes, start: Starts, length: Lengths) -> list[bytes]:
    data = buf.data
    ends = start + length
    return [data[begin:end].tobytes() for begin, end in zip(start.tolist(), ends.tolist(), strict=True)]


def encoded(value: Any) -> bytes | None:
    """A value of a nested column as JSON."""
    return None if value is None else _encoder.encode(value)


def _text_at(cell: bytes, kind: Json) -> str | None:
    text = cell.decode()
    if not kind.steps:
        _VALUE.decode(cell)
        return text
    value: bytes | msgspec.Raw = cell
    for step in kind.steps:
        member = _member(value, step)
        if member is None:
            return None
        value = member
    return cell_text(value, kind.kind)


def _member(value: bytes | msgspec.Raw, step: str | int) -> msgspec.Raw | None:
    try:
        if isinstance(step, str):
            return _OBJECT.decode(value).get(step)
        elements = _ARRAY.decode(value)
    except msgspec.ValidationError:
        # Neither an object nor an array. The rest of the value has not been decoded and may be invalid.
        _VALUE.decode(value)
        return None
    return elements[step] if step < len(elements) else None


def cell_text(value: bytes | msgspec.Raw | None, kind: Kind) -> str | None:
    """A JSON value as the text of a cell of this kind; None for null and for a missing value."""
    if value is None:
        return None
    raw = bytes(value).strip(_SPACE)
    first = raw[:1]
    if first == b'"':
        text: str = msgspec.json.decode(raw, type=str) if b"\\" in raw else raw[1:-1].decode()
        return text
    if raw == b"null":
        return None
    if first == b"[" and isinstance(kind, TextList | FieldList):
        return repr(msgspec.json.decode(raw))
    if first in (b"[", b"{") and not isinstance(kind, Text | Json):
        return INVALID + raw.decode()
    return raw.decode()
