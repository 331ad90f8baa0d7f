"""A dataset as a folder: `schema.toml` declares the tables, each `NAME.sql` is a query."""

from __future__ import annotations

import re
from pathlib import Path

from cauce.errors import PlanError, UsageError
from cauce.plan.checks.table_arguments import check_name
from cauce.schema import DatasetSchema
from cauce.sql_frontend.catalogue import catalogue_of_schema
from cauce.sql_frontend.dataset import SqlDataset
from cauce.sql_frontend.parse import parse
from cauce.sql_frontend.problems import SqlError
from cauce.sql_frontend.source import SqlSource

SCHEMA = "schema.toml"
_COMMENT = re.compile(r"^[ \t]*--[ \t]?(?!name[ \t]*:|parameter[ \t]*:)(.+)$", re.MULTILINE)


def is_sql_folder(path: Path) -> bool:
    return (path / SCHEMA).is_file()


def load_sql_folder(path: Path) -> SqlDataset:
    """Raises UsageError or PlanError, with the file, if a file cannot be used."""
    schema = DatasetSchema.from_toml(_text(path / SCHEMA), str(path / SCHEMA))
    files = sorted(path.glob("*.sql"))
    if not files:
        raise PlanError(f"{path} declares no queries: add files such as top_customers.sql")
    texts = {file.stem: _statement(file) for file in files}
    catalogue = catalogue_of_schema(schema)
    dataset = SqlDataset(
        path.resolve().name,
        tuple(table.table for table in catalogue.tables),
        source=path,
        texts=tuple(texts.values()),
        catalogue=catalogue,
        sql=SqlSource("\n;\n".join(texts.values()), schema),
    )
    for file in files:
        _check(file, dataset, texts[file.stem])
    dataset.add_queries(questions={name: _question(text) for name, text in texts.items()})
    return dataset


def _statement(file: Path) -> str:
    """The text of a file, whose only statement has the file's name."""
    check_name("query", file.stem)
    text = f"{_text(file).rstrip().rstrip(';')}\n"
    try:
        script = parse(text)
    except SqlError as problem:
        raise PlanError(f"{file}: {problem}") from None
    if len(script.statements) != 1:
        raise PlanError(f"{file} has {len(script.statements)} statements: write one in each file")
    start = script.statements[0].start
    return f"{text[:start]}-- name: {file.stem}\n{text[start:]}"


def _check(file: Path, dataset: SqlDataset, text: str) -> None:
    alone = SqlDataset(dataset.name, dataset.tables, texts=(text,), catalogue=dataset.catalogue)
    try:
        alone.answers(alone.parameter_values(None))
    except SqlError as problem:
        raise PlanError(f"{file}: {problem}") from None


def _question(text: str) -> str:
    """The first comment of a file, without names and parameters."""
    found = _COMMENT.search(text)
    return found[1].strip() if found else ""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{file} cannot be read: {problem}") from None
