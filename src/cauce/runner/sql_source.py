"""Finds the files and the schema of the tables that SQL statements name."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from cauce.errors import CauceError, DataNotFound, UsageError, WrongColumns
from cauce.process.isolation import isolated_all
from cauce.scan.formats.table import all_endings
from cauce.schema import DatasetSchema, FoundTable, Inferred, TableSchema, files_of, find_table, find_tables, infer
from cauce.schema.find_tables import unread_files
from cauce.schema.samples import TABLE_BYTES
from cauce.schema.structs import quoted
from cauce.sql_frontend.references import ctes_named, may_use, tables_named
from cauce.sql_frontend.source import SqlSource

Note = Callable[[str], None]
_SHOWN_FILES = 5
_JSON_HINT = (
    "; a file of JSON objects, one a line, must end in .ndjson or .jsonl; "
    "to convert an array of objects: jq -c '.[]' FILE.json > FILE.ndjson"
)


@dataclass(frozen=True)
class Given:
    """Choices of the user: `schema` replaces inference for the tables that it declares, `types` are those of columns
    by `table.column`."""

    schema: DatasetSchema = field(default_factory=DatasetSchema)
    types: Mapping[str, str] = field(default_factory=dict)


def source_of(
    text: str, data: Path, given: Given | None = None, note: Note = lambda _: None, *, isolate: bool = False
) -> SqlSource:
    """Infers the schemas of the tables that the statements name. Calls `note` with each remark about the files. With
    `isolate`, child processes infer them: this process starts no thread."""
    given = given or Given()
    named = tables_named(text)
    paths = [name for name in named if is_path(name)]
    by_path = [find_table(data, path) for path in paths]
    tables = _found(data, [name for name in named if name not in paths], given.schema, ctes_named(text))
    found = (_infer_isolated if isolate else _infer_here)([*by_path, *tables])
    patterns = {path: inferred.schema.name for path, inferred in zip(paths, found, strict=False)}
    lower = {name.lower() for name in (*named, *(table.name for table in by_path))}
    for each in found:
        if each.schema.name.lower() in lower:
            _note_remarks(each, given.types, note, may_use(text))
    schema = DatasetSchema((*given.schema.tables, *(each.schema for each in _distinct(found))))
    schema.check()
    rows = {each.schema.name: each.rows for each in found if each.rows}
    return SqlSource(text, with_types(schema, given.types), rows, patterns)


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
            found.append(infer(table))
            _note_remarks(found[-1], types, note)
        except (DataNotFound, WrongColumns) as problem:
            problems.append(problem)
            note(f"table {table.name} is left out: {problem}")
    if not found:
        raise problems[0]
    _note_unread(unread_files(data), note)
    return with_types(DatasetSchema(tuple(each.schema for each in found)), types)


def _note_unread(names: Sequence[str], note: Note) -> None:
    if names:
        more = f" and {len(names) - _SHOWN_FILES} more" if len(names) > _SHOWN_FILES else ""
        shown = ", ".join(names[:_SHOWN_FILES])
        json = _JSON_HINT if any(_is_json(name) for name in names) else ""
        note(f"files with other endings are not read: {shown}{more}{json}")


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json")


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
    unknown = wanted - {table.name.lower() for table in chosen} - {name.lower() for name in ctes}
    if not unknown:
        return chosen
    _check_endings(data, unknown)
    return [table for table in known if not table.problem and _can_be_read(table)]


def _check_endings(data: Path, unknown: Collection[str]) -> None:
    """Raises if an unknown table is the name of a file with an ending that is not read."""
    for file in unread_files(data):
        if {file.lower(), Path(file).stem.lower()} & set(unknown):
            hint = _JSON_HINT if _is_json(file) else f"; files that are read end in {', '.join(all_endings())}"
            raise DataNotFound(f"{file} in {data} is not read because of its ending{hint}")


def _can_be_read(table: FoundTable) -> bool:
    try:
        infer(table)
    except CauceError:
        return False
    return True


def given_columns(types: Mapping[str, str]) -> set[str]:
    """The columns whose types are given, in small letters and without quotes."""
    return {column.lower().replace('"', "") for column in types}


def _infer_here(tables: Sequence[FoundTable]) -> list[Inferred]:
    return [infer(table) for table in tables]


def _infer_isolated(tables: Sequence[FoundTable]) -> list[Inferred]:
    """Infers the tables in as many child processes as there are processors, with about equal samples."""
    shares = [list[int]() for _ in range(min(len(os.sched_getaffinity(0)), len(tables)))]
    sizes = [min(sum(file.bytes for file in table.files), TABLE_BYTES) for table in tables]
    for number in sorted(range(len(tables)), key=sizes.__getitem__, reverse=True):
        min(shares, key=lambda share: sum(sizes[each] for each in share)).append(number)
    answers = isolated_all([partial(_infer_here, [tables[number] for number in share]) for share in shares])
    found = {
        number: inferred
        for share, answer in zip(shares, answers, strict=True)
        for number, inferred in zip(share, answer, strict=True)
    }
    return [found[number] for number in range(len(tables))]


def _note_remarks(
    inferred: Inferred, types: Mapping[str, str], note: Note, is_used: Callable[[str], bool] = lambda _: True
) -> None:
    """Notes the remarks about a table, except on types of columns that are given or not used."""
    for remark in inferred.notes:
        note(remark)
    table, given = inferred.schema.name, given_columns(types)
    for column, mixed in inferred.mixed_columns.items():
        if is_used(column) and f"{table}.{column}".lower() not in given:
            option = shlex.quote(f"{quoted(table)}.{quoted(column)}={mixed.type}")
            note(f"{table}: {mixed.remark}; to read it so: --type {option}")


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
