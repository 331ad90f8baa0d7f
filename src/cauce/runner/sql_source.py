"""Finds the files and the schema of the tables that SQL statements name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cauce.errors import CauceError, DataNotFound, UsageError, WrongColumns
from cauce.scan.formats.table import all_endings
from cauce.schema import DatasetSchema, FoundTable, Inferred, TableSchema, files_of, find_table, find_tables, infer
from cauce.schema.structs import quoted
from cauce.sql_frontend.references import ctes_named, tables_named
from cauce.sql_frontend.source import SqlSource

Note = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """Choices of the user: `schema` replaces inference for the tables that it declares, `types` are those of columns
    by `table.column`."""

    schema: DatasetSchema = field(default_factory=DatasetSchema)
    types: Mapping[str, str] = field(default_factory=dict)


def source_of(text: str, data: Path, given: Given | None = None, note: Note = lambda _: None) -> SqlSource:
    """Infers the schemas of the tables that the statements name. Calls `note` with each remark about the files."""
    given = given or Given()
    named = tables_named(text)
    paths = [name for name in named if is_path(name)]
    found = _inferred([find_table(data, path) for path in paths], given.types, note)
    patterns = {path: inferred.schema.name for path, inferred in zip(paths, found, strict=True)}
    tables = _found(data, [name for name in named if name not in paths], given.schema, ctes_named(text))
    lower = {name.lower() for name in named}
    for table in tables:
        found += _inferred([table], given.types, note if table.name.lower() in lower else _ignore)
    schema = DatasetSchema((*given.schema.tables, *(each.schema for each in _distinct(found))))
    schema.check()
    rows = {each.schema.name: each.rows for each in found if each.rows}
    return SqlSource(text, with_types(schema, given.types), rows, patterns)


def _ignore(remark: str) -> None:
    """For tables that are only listed in an error."""


def bytes_named(text: str, data: Path, declared: DatasetSchema) -> int:
    """The size of the files of the tables that the statements name."""
    named = tables_named(text)
    files = [file for name in named if is_path(name) for file in find_table(data, name).files]
    lower = {name.lower() for name in named}
    files += [file for table in declared.tables if table.name.lower() in lower for file in files_of(table, data)]
    names = [name for name in named if not is_path(name)]
    files += [file for table in _found(data, names, declared, ctes_named(text)) for file in table.files]
    return sum(file.bytes for file in files)


def schema_of(data: Path, types: Mapping[str, str], note: Note = lambda _: None) -> DatasetSchema:
    """The inferred schema of all tables of a folder, with some types given."""
    found: list[Inferred] = []
    problems: list[CauceError] = []
    for table in find_tables(data):
        try:
            table.check()
            found += _inferred([table], types, note)
        except (DataNotFound, WrongColumns) as problem:
            problems.append(problem)
            note(f"table {table.name} is left out: {problem}")
    if not found:
        raise problems[0]
    return with_types(DatasetSchema(tuple(each.schema for each in found)), types)


def read_schema(file: Path) -> DatasetSchema:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"the schema {file} cannot be read: {problem}") from None
    return DatasetSchema.from_toml(text, str(file))


def with_types(schema: DatasetSchema, types: Mapping[str, str]) -> DatasetSchema:
    for column, kind in types.items():
        schema = schema.override(column, kind)
    return schema


def is_path(name: str) -> bool:
    """Whether a name in FROM is a path or pattern of files and not the name of a table."""
    return "/" in name or "*" in name or name.lower().endswith(tuple(all_endings()))


def _found(data: Path, names: Collection[str], declared: DatasetSchema, ctes: Collection[str]) -> list[FoundTable]:
    """The tables of the folder that are named and not declared. All that can be read if a name is unknown, so that the
    error about it can list them."""
    wanted = {name.lower() for name in names} - {table.name.lower() for table in declared.tables}
    if not wanted:
        return []
    known = [
        table for table in find_tables(data) if table.name.lower() not in {t.name.lower() for t in declared.tables}
    ]
    chosen = [table for table in known if table.name.lower() in wanted]
    for table in chosen:
        table.check()
    if wanted <= {table.name.lower() for table in chosen} | {name.lower() for name in ctes}:
        return chosen
    return [table for table in known if not table.problem and _can_be_read(table)]


def _can_be_read(table: FoundTable) -> bool:
    try:
        infer(table)
    except CauceError:
        return False
    return True


def given_columns(types: Mapping[str, str]) -> set[str]:
    """The columns whose types are given, in small letters and without quotes."""
    return {column.lower().replace('"', "") for column in types}


def _inferred(tables: Collection[FoundTable], types: Mapping[str, str], note: Note) -> list[Inferred]:
    """The schemas of tables. Notes the remarks about them, except on columns whose type is given."""
    found = [infer(table) for table in tables]
    given = given_columns(types)
    for each in found:
        for remark in each.notes:
            note(remark)
        for column, mixed in each.mixed_columns.items():
            name = f"{each.schema.name}.{column}"
            if name.lower() not in given:
                option = shlex.quote(f"{quoted(each.schema.name)}.{quoted(column)}={mixed.type}")
                note(f"{each.schema.name}: {mixed.remark}; to read it so: --type {option}")
    return found


def _distinct(found: list[Inferred]) -> list[Inferred]:
    """One entry for each table: a path may name the same file as a table."""
    by_name: dict[str, Inferred] = {}
    for each in found:
        other = by_name.setdefault(each.schema.name.lower(), each)
        if other is not each and not _same(other.schema, each.schema):
            raise UsageError(
                f"{other.schema.path} and {each.schema.path} are both table {each.schema.name}; rename one of them"
            )
    return list(by_name.values())


def _same(one: TableSchema, other: TableSchema) -> bool:
    return msgspec.structs.replace(one, path="") == msgspec.structs.replace(other, path="")
