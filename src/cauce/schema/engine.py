"""Turns a schema into the engine's table, which every process reads in the same way."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from cauce.plan.relation import Table
from cauce.scan.parts import TableFile
from cauce.scan.tables import Column, TableSpec
from cauce.schema.find_tables import files_at
from cauce.schema.structs import TableSchema

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")
_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def spec_of(schema: TableSchema) -> TableSpec:
    """The engine's declaration. A cell that its type does not read is a reject; a column that a file lacks is null."""
    columns = {each.name: Column(each.name, each.column_type.kind, nulls=each.nulls) for each in schema.columns}
    return TableSpec(
        log_name(schema.name),
        (schema.path,),
        columns,
        delimiter=schema.delimiter,
        quote=schema.quote,
        header=schema.header,
        missing_is_null=True,
        title=schema.name,
    )


def table_of(schema: TableSchema) -> Table:
    return Table.of_spec(spec_of(schema))


def files_of(schema: TableSchema, folder: Path) -> list[TableFile]:
    """The files of a table in name order. Raises DataNotFound if there is none."""
    return files_at(folder, schema.path)


def log_name(name: str) -> str:
    """The name of a table in logs and reports: its own if every fabric allows it, else a similar one."""
    if _NAME.fullmatch(name):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{_OTHER.sub('_', name)[:50]}_{digest}".lstrip("_")
