"""Infers the schema of a table from samples of its files.

Inference never fails on dirty rows: cells are compared with types, and a column that fits no other type is text.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import polars as pl

from cauce.errors import WrongColumns
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.cut import read_header
from cauce.scan.csv.located import padded
from cauce.scan.formats.csv import Csv, Tsv
from cauce.scan.formats.format import Format
from cauce.scan.formats.ndjson import Ndjson
from cauce.scan.formats.parquet import Parquet
from cauce.scan.formats.table import format_of
from cauce.scan.headers import is_text
from cauce.scan.parts import TableFile
from cauce.scan.reader import read_part
from cauce.scan.tables import Column, TableSpec
from cauce.schema.column_types import different, type_of_most, type_of_values
from cauce.schema.dialect import DELIMITERS, Dialect, dialect_of, has_header
from cauce.schema.find_tables import FoundTable
from cauce.schema.json_types import json_columns
from cauce.schema.local_formats import garbled_text, local_format, mixes_encodings
from cauce.schema.other_formats import check_format, json_remark, why_no_objects
from cauce.schema.parquet_types import parquet_columns
from cauce.schema.samples import Sample, chosen, file_budget, head_of, sample_of
from cauce.schema.structs import ColumnSchema, TableSchema, quoted
from cauce.schema.types import ColumnType, common_type

HEAD_BYTES = 2**18
_SHOWN = 5
_NO_TEXTS = pl.Series([], dtype=pl.String)


class MixedColumn(msgspec.Struct, frozen=True):
    """A type that reads all but a few cells of a text column, and a remark about these."""

    type: str
    remark: str


class Inferred(msgspec.Struct, frozen=True):
    """A schema, remarks for the user, and an estimate of the number of rows (0: unknown). `mixed_columns` are
    text because of a few cells."""

    schema: TableSchema
    notes: tuple[str, ...] = ()
    rows: int = 0
    mixed_columns: dict[str, MixedColumn] = {}


@dataclass
class _Columns:
    """Samples of the files of a table: texts of CSV cells, types of other columns, and the number of rows."""

    texts: dict[str, list[pl.Series]] = field(default_factory=dict)
    types: dict[str, list[ColumnType]] = field(default_factory=dict)
    order: dict[str, None] = field(default_factory=dict)
    by_file: dict[str, frozenset[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    mixed_columns: dict[str, MixedColumn] = field(default_factory=dict)
    garbled: dict[str, str] = field(default_factory=dict)
    """A remark for each file that is not UTF-8."""
    mixed_encodings: set[str] = field(default_factory=set)
    """Those of them that hold text in UTF-8 too."""
    paths: dict[str, str] = field(default_factory=dict)
    rows: float = 0.0

    def add(self, file: TableFile, names: Iterable[str]) -> None:
        found = list(names)
        self.order |= dict.fromkeys(found)
        self.by_file[file.name] = frozenset(found)

    def schemas(self) -> Iterator[ColumnSchema]:
        for name in self.order:
            kinds = list(self.types.get(name, []))
            nulls: tuple[str, ...] = ()
            values = different(pl.concat(self.texts.get(name, [_NO_TEXTS])))
            if len(values):
                of_texts, nulls = type_of_values(values)
                kinds.append(of_texts)
                if of_texts.name == "text":
                    self._note_exceptions(name, values)
            found = common_type(kinds) if kinds else ColumnType("text")
            yield ColumnSchema(name, str(found), nulls if found.name != "text" else ())

    def _note_exceptions(self, name: str, values: pl.Series) -> None:
        """Remarks that a few cells, or a format of one country, are the reason why a column is text."""
        found = type_of_most(values)
        if found is not None:
            remark = (
                f"column {name} is text because of cells such as {found.example!r}; as {found.type}, "
                f"{found.count:,} of {found.values:,} values of the sample would be rejected"
            )
            self.mixed_columns[name] = MixedColumn(str(found.type), remark)
        elif (local := local_format(values)) is not None:
            sql = local.sql.format(quoted(name))
            self.notes.append(f"column {name} has {local.words}, such as {local.example!r}; in SQL: {sql}")


def infer(found: FoundTable) -> Inferred:
    """The schema of a table. Raises WrongColumns if its files do not agree in their dialect, or have no columns."""
    columns = _Columns()
    files = [(file, format_of(file.path)) for file in found.files]
    csv = [file for file, form in files if isinstance(form, Csv)]
    dialect, header = _dialect(found.name, csv)
    sampled = {file.name for file in chosen(found.files)}
    budget = file_budget(len(found.files))
    for file, form in files:
        if file.name in sampled or not isinstance(form, Csv):
            _add_file(columns, file, form, dialect, header, budget)
    schemas = tuple(columns.schemas())
    if not schemas:
        why = "; ".join(columns.notes) or "its files have neither rows nor names"
        raise WrongColumns(f"table {found.name} ({found.path}) has no columns that can be read: {why}")
    delimiter = dialect.delimiter if any(not isinstance(format_of(file.path), Tsv) for file in csv) else ","
    schema = TableSchema(found.name, found.path, schemas, delimiter, dialect.quote, header)
    notes = [*_not_utf8(columns), *columns.notes, *_missing(columns)]
    return Inferred(schema, tuple(f"{found.name}: {note}" for note in notes), int(columns.rows), columns.mixed_columns)


def _add_file(columns: _Columns, file: TableFile, form: Format, dialect: Dialect, header: bool, budget: int) -> None:
    if isinstance(form, Parquet):
        kinds, rows = parquet_columns(file)
        _add_types(columns, file, kinds)
        columns.rows += rows
    elif isinstance(form, Ndjson):
        sample = sample_of(file, budget)
        check_format(file, sample.pieces[0])
        kinds, rows = json_columns(sample)
        _add_types(columns, file, kinds)
        if not rows and (why := why_no_objects(sample.pieces[0])):
            columns.notes.append(f"{file.name} has no rows: {why}")
        columns.rows += _all_rows(file, sample, rows)
    elif isinstance(form, Csv):
        _add_csv(columns, file, form, dialect, header, budget)
    else:
        _add_other(columns, file, form, budget)


def _add_types(columns: _Columns, file: TableFile, kinds: dict[str, ColumnType | None]) -> None:
    columns.add(file, kinds)
    for name, kind in kinds.items():
        if kind is not None:
            columns.types.setdefault(name, []).append(kind)


def _add_csv(columns: _Columns, file: TableFile, form: Csv, dialect: Dialect, header: bool, budget: int) -> None:
    spec = TableSpec("sample", (), {}, delimiter=dialect.delimiter, quote=dialect.quote, header=header)
    delimiter = form.delimiter(spec)
    head, _ = head_of(file, HEAD_BYTES)
    first = read_header(head, delimiter, quote=dialect.quote, named=header, name=file.name)
    sample = sample_of(file, budget, Dialect(delimiter, dialect.quote, len(first.cells)))
    if not is_text(first.cells):
        raise WrongColumns(
            f"{file.name} is not a text file: its first line holds bytes that are not text; save it as CSV in UTF-8, "
            "or give it the ending of its format"
        )
    rows_of = (sample.pieces[0][first.end :], *sample.pieces[1:])
    if (remark := json_remark(file, head)) is not None:
        columns.notes.append(remark)
    garbled = garbled_text(rows_of)
    if garbled is not None:
        columns.garbled.setdefault(file.name, garbled)
        if mixes_encodings(rows_of):
            columns.mixed_encodings.add(file.name)
        columns.paths[file.name] = file.path
    names = _usable(columns, file, first.cells)
    columns.add(file, names)
    wanted = {name: Column(name) for name in names}
    spec = TableSpec("sample", (), wanted, delimiter=delimiter, quote=dialect.quote, header=header)
    rows = 0
    for piece in rows_of:
        block = CsvBlock(spec, file.name, first.cells, 1, padded(piece), len(piece), frozenset(names))
        rows += block.height
        for name in names:
            columns.texts.setdefault(name, []).append(block.column(name, None))
    columns.rows += _all_rows(file, sample, rows)


def _usable(columns: _Columns, file: TableFile, header: tuple[str, ...]) -> list[str]:
    """The columns that have a name of their own; a query could not name others."""
    names = [name for name in header if name and header.count(name) == 1]
    ignored = [name or "(without a name)" for name in dict.fromkeys(header) if name not in names]
    if ignored:
        shown = ", ".join(ignored[:_SHOWN])
        columns.notes.append(f"columns of {file.name} without a name of their own are not read: {shown}; rename them")
    return names


def _add_other(columns: _Columns, file: TableFile, form: Format, budget: int) -> None:
    """A format that is not known here: its first part, as text."""
    bare = TableSpec("sample", (), {})
    names = list(dict.fromkeys(form.header(file, bare) or ()))
    columns.add(file, names)
    spec = TableSpec("sample", (), {name: Column(name) for name in names})
    part = next(form.parts(file, spec, budget, guess=False))
    block = read_part(part, spec, frozenset(names), lambda size: np.empty(size, np.uint8))
    for name in names:
        columns.texts.setdefault(name, []).append(block.column(name, None))
    columns.rows += block.height * max(file.bytes, 1) / max(part.weight, 1)


def _all_rows(file: TableFile, sample: Sample, rows: int) -> float:
    return rows if sample.whole else rows * file.bytes / max(sample.bytes, 1)


def _dialect(table: str, files: list[TableFile]) -> tuple[Dialect, bool]:
    """The dialect of all CSV files of a table, and whether they have a header line."""
    known: dict[str, Dialect] = {}
    headers: dict[bool, str] = {}
    for file in chosen(tuple(files)) if files else ():
        head, _ = head_of(file, HEAD_BYTES)
        check_format(file, head)
        tabs = isinstance(format_of(file.path), Tsv)
        found = dialect_of(head, "\t" if tabs else DELIMITERS)
        if found.width > 1 and not tabs:
            known.setdefault(file.name, found)
        named = _named(head, found)
        if named is not None:
            headers.setdefault(named, file.name)
    _check_agreement(table, known, headers)
    dialect = next(iter(known.values()), Dialect())
    return dialect, True in headers or not headers


def _check_agreement(table: str, known: dict[str, Dialect], headers: dict[bool, str]) -> None:
    dialects: dict[tuple[str, str], str] = {}
    for name, each in known.items():
        dialects.setdefault((each.delimiter, each.quote), name)
    if len(dialects) > 1:
        (one, first), (other, second), *_ = dialects.items()
        raise WrongColumns(
            f"the files of table {table} are written differently: {first} has delimiter {one[0]!r} and quote "
            f"{one[1]!r}, {second} has {other[0]!r} and {other[1]!r}; write them in one way, or read them as two tables"
        )
    if len(headers) > 1:
        raise WrongColumns(
            f"of the files of table {table}, {headers[True]} begins with the names of its columns, and "
            f"{headers[False]} does not; add that line, or read them as two tables"
        )


def _named(head: bytes, dialect: Dialect) -> bool | None:
    """Whether the first record of a file is a header; None if nothing shows it."""
    try:
        first = read_header(head, dialect.delimiter, quote=dialect.quote)
    except WrongColumns:
        return None
    names = {f"{number}": Column(f"{number}") for number in range(len(first.cells))}
    spec = TableSpec("sample", (), names, delimiter=dialect.delimiter, quote=dialect.quote)
    body = head[first.end :]
    block = CsvBlock(spec, "", tuple(names), 1, padded(body), len(body), frozenset(names))
    return has_header(first.cells, [block.column(name, None) for name in names])


def _not_utf8(columns: _Columns) -> list[str]:
    """At most one remark, about the first file that is not UTF-8."""
    if not columns.garbled:
        return []
    (name, garbled), *others = columns.garbled.items()
    more = f" (and {len(others)} more)" if others else ""
    if name in columns.mixed_encodings:
        # One conversion of the whole file would damage the text that is UTF-8.
        return [f"{name}{more} has text in UTF-8 and in another encoding: {garbled}; write all of it in UTF-8"]
    path = shlex.quote(columns.paths[name])
    convert = f"iconv -f WINDOWS-1252 -t UTF-8 {path} > utf8.tmp && mv utf8.tmp {path}"
    return [f"{name}{more} is not UTF-8, and {garbled}; to convert it, if that is meant: {convert}"]


def _missing(columns: _Columns) -> list[str]:
    """Once for each column: the files that lack it."""
    notes = []
    for name in columns.order:
        lacking = [file for file, names in columns.by_file.items() if name not in names]
        if lacking and len(columns.by_file) > 1:
            more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
            shown = ", ".join(lacking[:_SHOWN])
            notes.append(f"column {name} is null in all rows of {shown}{more}, where there is no such column")
    return notes
