"""Types of the values of NDJSON, by their JSON types; strings may be dates and times."""

from __future__ import annotations

import msgspec
import polars as pl

from cauce.scan.cells.json_cells import json_object
from cauce.scan.formats.lines import BOM
from cauce.schema.column_types import type_of_numbers, type_of_times
from cauce.schema.samples import Sample
from cauce.schema.types import ColumnType

_SPACE = b" \t\r\n"
_SORTS = {b'"': "string", b"{": "nested", b"[": "nested", b"t": "boolean", b"f": "boolean", b"n": "null"}


def json_columns(sample: Sample) -> tuple[dict[str, ColumnType | None], int]:
    """The types of all keys in the sample's objects, None where all values are null; and the number of objects."""
    values: dict[str, dict[str, set[bytes]]] = {}
    rows = 0
    for piece in sample.pieces:
        for line in piece.removeprefix(BOM).split(b"\n"):
            members = json_object(line.strip(_SPACE))
            rows += members is not None
            for key, raw in (members or {}).items():
                value = bytes(raw).strip(_SPACE)
                values.setdefault(key, {}).setdefault(_SORTS.get(value[:1], "number"), set()).add(value)
    return {key: _type_of(found) for key, found in values.items()}, rows


def _type_of(found: dict[str, set[bytes]]) -> ColumnType | None:
    sorts = set(found) - {"null"}
    if not sorts:
        return None
    if len(sorts) > 1:
        return ColumnType("text")
    (sort,) = sorts
    values = pl.Series(sorted(_text(sort, value) for value in found[sort]), dtype=pl.String)
    match sort:
        case "nested":
            return ColumnType("json")
        case "boolean":
            return ColumnType("boolean")
        case "number":
            return type_of_numbers(values) or ColumnType("text")
    filled = values.filter(values != "")
    return (type_of_times(filled) if len(filled) else None) or ColumnType("text")


def _text(sort: str, value: bytes) -> str:
    if sort != "string":
        return value.decode("utf-8", "replace")
    try:
        text: str = msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeError):
        return ""
    return text
