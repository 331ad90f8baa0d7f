"""Schemas as TOML: a table for each table, with its columns in their order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from cauce.errors import UsageError, did_you_mean
from cauce.schema.structs import ColumnSchema, DatasetSchema, TableSchema
from cauce.schema.types import TYPES

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
_DEFAULTS = {"delimiter": ",", "quote": '"', "header": True}
_KEYS = ("path", *_DEFAULTS, "columns")
_COMMENT = f"# Types of columns: {', '.join(TYPES)}; decimal(18,2) has 2 decimals.\n"


def to_toml(schema: DatasetSchema) -> str:
    """The text of a schema; `from_toml` gives an equal one."""
    return _COMMENT + "".join(f"\n{_table(table)}" for table in schema.tables)


def _table(table: TableSchema) -> str:
    key = _key(table.name)
    lines = [f"[{key}]", f"path = {_text(table.path)}"]
    for name, default in _DEFAULTS.items():
        value = getattr(table, name)
        if value != default:
            lines.append(f"{name} = {str(value).lower() if isinstance(value, bool) else _text(value)}")
    lines += ["", f"[{key}.columns]", *map(_column, table.columns)]
    return "\n".join(lines) + "\n"


def _column(column: ColumnSchema) -> str:
    value = _text(column.type)
    if column.nulls:
        value = f"{{ type = {value}, nulls = [{', '.join(map(_text, column.nulls))}] }}"
    return f"{_key(column.name)} = {value}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + '"'


def from_toml(text: str, name: str = "the schema") -> DatasetSchema:
    """The schema of a text. Raises UsageError with the line of a syntax error, or the key of an invalid value."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{name} is not valid TOML: {problem}") from None
    try:
        schema = DatasetSchema(tuple(_read_table(key, value) for key, value in found.items()))
        schema.check()
    except UsageError as problem:
        raise UsageError(f"{name}: {problem}") from None
    return schema


def _read_table(name: str, found: object) -> TableSchema:
    if not isinstance(found, dict):
        raise UsageError(f"{name} = {found!r} is outside of a table; start each table with [NAME]")
    unknown = next((key for key in found if key not in _KEYS), None)
    if unknown is not None:
        raise UsageError(f"{name}.{unknown}: unknown key; expected {', '.join(_KEYS)}{did_you_mean(unknown, _KEYS)}")
    for key, kind, what in (("path", str, "a text"), ("columns", dict, "a table of names and types")):
        if not isinstance(found.get(key), kind):
            raise UsageError(f"{name}.{key} must be given, as {what}")
    for key, default in _DEFAULTS.items():
        if not isinstance(found.get(key, default), type(default)):
            raise UsageError(
                f"{name}.{key} must be {'true or false' if default is True else 'a text'}, not {found[key]!r}"
            )
    options = {key: found[key] for key in _DEFAULTS if key in found}
    columns = tuple(_read_column(f"{name}.columns", key, value) for key, value in found["columns"].items())
    return TableSchema(name, found["path"], columns, **options)


def _read_column(table: str, name: str, found: object) -> ColumnSchema:
    given: Mapping[str, object] = found if isinstance(found, dict) else {"type": found}
    kind, nulls = given.get("type"), given.get("nulls", [])
    right = isinstance(kind, str) and isinstance(nulls, list) and all(isinstance(each, str) and each for each in nulls)
    if not right or set(given) - {"type", "nulls"}:
        raise UsageError(
            f'{table}.{name} = {found!r}: write a type, such as "integer", or {{ type = "integer", nulls = ["NA"] }}'
        )
    assert isinstance(kind, str)
    assert isinstance(nulls, list)
    return ColumnSchema(name, kind, tuple(nulls))
