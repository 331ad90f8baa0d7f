"""Explains rejects of a table whose types were inferred: the sample did not show all that its columns hold."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from cauce.schema.column_types import NULL_TEXTS, type_of_texts
from cauce.schema.structs import ColumnSchema, TableSchema, quoted
from cauce.schema.types import column_type, common_type

_SHOWN_CHARACTERS = 60


def type_suggestions(schema: TableSchema, rejects: pl.DataFrame, given: Collection[str] = ()) -> list[str]:
    """A sentence for each column with rejected cells: how many, an example, and the option that reads them. `rejects`
    are those of this table, in the form of `REJECT_SCHEMA`. The types of the columns `given`, in small letters, were
    chosen by the user, who expects rejects."""
    found = _by_column(schema, rejects)
    return [_sentence(schema, column, cells) for column, cells in found if _plain_name(schema, column) not in given]


def _plain_name(schema: TableSchema, column: ColumnSchema) -> str:
    return f"{schema.name}.{column.name}".lower()


def _by_column(schema: TableSchema, rejects: pl.DataFrame) -> list[tuple[ColumnSchema, pl.DataFrame]]:
    found = [(column, rejects.filter(pl.col("column") == column.name)) for column in schema.columns]
    return [(column, cells) for column, cells in found if cells.height]


def _sentence(schema: TableSchema, column: ColumnSchema, cells: pl.DataFrame) -> str:
    file, line, raw = cells.select("file", "line", "raw").row(0)
    name = f"{quoted(schema.name)}.{quoted(column.name)}"
    count = "1 cell is" if cells.height == 1 else f"{cells.height:,} cells are"
    shown = raw if len(raw) <= _SHOWN_CHARACTERS else raw[: _SHOWN_CHARACTERS - 1] + "…"
    example = f"such as {shown!r} ({file} line {line})"
    return f"{name} is read as {column.type}, but {count} not, {example}: {_remedy(name, column, cells['raw'])}"


def _remedy(name: str, column: ColumnSchema, raws: pl.Series) -> str:
    """The type that reads the sample and the rejected cells."""
    option = f"'{name}" if '"' in name else name
    end = "'" if '"' in name else ""
    texts = raws.unique(maintain_order=True)
    if texts.is_in(NULL_TEXTS).all():
        named = ", ".join(f'"{text}"' for text in texts)
        entry = f'{{ type = "{column.type}", nulls = [{named}] }}'
        return f"write {entry} for it in the schema, or use --type {option}=text{end}"
    kind = common_type([column_type(column.type), type_of_texts(texts)[0]])
    return f"use --type {option}={kind.name}{end}"
