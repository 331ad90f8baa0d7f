"""The schema of tables as immutable values: files, dialect, columns and types."""

from __future__ import annotations

import hashlib
import re

import msgspec

from cauce.errors import UnknownName, UsageError, did_you_mean
from cauce.scan.csv.located import QUOTES
from cauce.schema.types import ColumnType, column_type

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+))\s*\.\s*(?:"((?:[^"]|"")+)"|(.+?))\s*')


class ColumnSchema(msgspec.Struct, frozen=True):
    """A column by the name in the header. `nulls` are texts that are read as null, in addition to the empty text."""

    name: str
    type: str
    nulls: tuple[str, ...] = ()

    @property
    def column_type(self) -> ColumnType:
        return column_type(self.type)


class TableSchema(msgspec.Struct, frozen=True):
    """A table. `path` is a file, a directory with a slash at its end, or a pattern, below the data folder or absolute.
    `delimiter`, `quote` and `header` are those of its CSV files."""

    name: str
    path: str
    columns: tuple[ColumnSchema, ...]
    delimiter: str = ","
    quote: str = '"'
    header: bool = True

    def check(self) -> None:
        """Raises UsageError if a value is not allowed."""
        if not self.columns:
            raise UsageError(f"table {self.name} has no columns; name at least one")
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in "\"'\r\n\0":
            raise UsageError(
                f"{self.name}.delimiter: {self.delimiter!r} is not one ASCII character, such as ',' or ';'"
            )
        if self.quote not in QUOTES:
            raise UsageError(
                f"""{self.name}.quote: {self.quote!r} is not allowed; expected '"', "'" or an empty text"""
            )
        names = [column.name for column in self.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"{self.name}.columns names {twice} twice")
        for column in self.columns:
            try:
                column_type(column.type)
            except UsageError as problem:
                raise UsageError(f"{self.name}.columns.{column.name}: {problem}") from None

    def column(self, name: str) -> ColumnSchema:
        """A column by its name, in any case if that is unique."""
        alike = [column for column in self.columns if column.name.lower() == name.lower()]
        exact = [column for column in alike if column.name == name]
        if exact or len(alike) == 1:
            return (exact or alike)[0]
        names = [column.name for column in self.columns]
        raise UnknownName(
            f"table {self.name} has no column {name}; it has {', '.join(names)}{did_you_mean(name, names)}"
        )


class DatasetSchema(msgspec.Struct, frozen=True):
    """The schemas of all tables of a data folder."""

    tables: tuple[TableSchema, ...] = ()

    def check(self) -> None:
        """Raises UsageError if a value is not allowed."""
        names = [table.name.lower() for table in self.tables]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"the schema has two tables named {twice}; give each its own name")
        for table in self.tables:
            table.check()

    def table(self, name: str) -> TableSchema:
        """A table by its name, in any case."""
        for table in self.tables:
            if table.name.lower() == name.lower():
                return table
        names = [table.name for table in self.tables]
        raise UnknownName(f"unknown table {name}; there are {', '.join(names) or 'none'}{did_you_mean(name, names)}")

    def override(self, column: str, type_: str) -> DatasetSchema:
        """The schema with another type of a column, given as `orders.paid`. Quotes allow dots in names."""
        found = _NAMES.fullmatch(column)
        if found is None:
            raise UsageError(f"{column!r} is not a valid column; expected TABLE.COLUMN, such as orders.paid")
        quoted_table, table_name, quoted_column, column_name = found.groups()
        table = self.table(_unquoted(quoted_table) or table_name.strip())
        old = table.column(_unquoted(quoted_column) or column_name)
        new = msgspec.structs.replace(old, type=str(column_type(type_)))
        columns = tuple(new if each is old else each for each in table.columns)
        changed = msgspec.structs.replace(table, columns=columns)
        return DatasetSchema(tuple(changed if each is table else each for each in self.tables))

    @property
    def digest(self) -> str:
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=16).hexdigest()

    def to_toml(self) -> str:
        from cauce.schema.toml_text import to_toml

        return to_toml(self)

    @classmethod
    def from_toml(cls, text: str, name: str = "the schema") -> DatasetSchema:
        from cauce.schema.toml_text import from_toml

        return from_toml(text, name)


def quoted(name: str) -> str:
    """A name as SQL and `--type` read it."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _unquoted(name: str | None) -> str:
    return (name or "").replace('""', '"')
