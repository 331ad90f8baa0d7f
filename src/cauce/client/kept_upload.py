"""Uploads files to a kept dataset. Files that it holds already are compared and not sent again; new files are added as
a new version."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from cauce.api.parts import PartReceipt
from cauce.client.sources import Source
from cauce.client.transport import Body
from cauce.client.upload import TableUpload, Upload
from cauce.datasets.given import dataset_of
from cauce.errors import DataNotFound, InputDiffers, Refused, UsageError
from cauce.job.kept_messages import KeepRequest, KeptDataset
from cauce.plan import Dataset
from cauce.runner.sql_source import read_schema, schema_of, with_types
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import check_columns
from cauce.schema import DatasetSchema, FoundTable, files_of, find_tables, spec_of
from cauce.schema.find_tables import files_at

Note = Callable[[str], None]


def warn_of(note: str) -> None:
    warnings.warn(note, stacklevel=4)


@dataclass(frozen=True)
class Keeping:
    """Choices of a user who uploads a dataset. `schema` is a file as `cauce schema` prints it; `declared` is the name
    or the file of a declared dataset; `keep_s` is how long the service keeps the dataset."""

    data: Path
    schema: Path | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    declared: str | Path | Dataset | None = None
    keep_s: float | None = None
    note: Note = warn_of

    def __post_init__(self) -> None:
        if self.declared is not None and (self.schema is not None or self.types):
            raise UsageError("a declared dataset has its own columns and types; omit the schema and the types")


@dataclass(frozen=True)
class Prepared:
    """The request that creates the dataset, and the files of its tables."""

    request: KeepRequest
    sources: list[Source]


def prepare(name: str, keeping: Keeping, existing: KeptDataset | None) -> Prepared:
    """Finds the files and, for a new dataset, infers their schema. Raises if there is nothing to upload."""
    if existing is not None and keeping.declared is None and existing.declared is not None:
        keeping = Keeping(keeping.data, declared=existing.declared, keep_s=keeping.keep_s, note=keeping.note)
    keep_s = existing.keep_s if existing is not None and keeping.keep_s is None else keeping.keep_s
    if keeping.declared is not None:
        dataset = dataset_of(keeping.declared)
        return Prepared(KeepRequest(None, dataset.name, keep_s), _declared_sources(dataset, keeping.data, existing))
    if existing is not None and existing.schema is not None and keeping.schema is None:
        schema = with_types(existing.schema, keeping.types)
        return Prepared(KeepRequest(schema, None, keep_s), _added_sources(name, schema, keeping))
    schema = _schema(keeping)
    sources = [Source(spec_of(table), files_of(table, keeping.data)) for table in schema.tables]
    return Prepared(KeepRequest(schema, None, keep_s), sources)


def _schema(keeping: Keeping) -> DatasetSchema:
    if keeping.schema is None:
        return schema_of(keeping.data, keeping.types, keeping.note)
    return with_types(read_schema(keeping.schema), keeping.types)


def _declared_sources(dataset: Dataset, data: Path, existing: KeptDataset | None) -> list[Source]:
    """All tables of a new dataset; of an existing one, those that have files here."""
    found: list[Source] = []
    problem: DataNotFound | None = None
    for table in dataset.tables:
        try:
            files = dataset.find_files(data, table.spec)
        except DataNotFound as missing:
            if existing is None:
                raise
            problem = missing
            continue
        for file in files:
            check_columns(file, table.spec, frozenset(table.spec.columns))
        found.append(Source(table.spec, files))
    if not found and problem is not None:
        raise problem
    return found


def _added_sources(name: str, schema: DatasetSchema, keeping: Keeping) -> list[Source]:
    """The files of a dataset's tables in a folder: as the folder names them, or at the paths of its schema."""
    tables = {table.name.lower(): table for table in find_tables(keeping.data)}
    found: list[Source] = []
    for table in schema.tables:
        by_name = tables.pop(table.name.lower(), None)
        files = list(by_name.files) if by_name is not None else _files_at(table.path, keeping.data, tables)
        if files:
            found.append(Source(spec_of(table), files))
    if not found:
        raise DataNotFound(
            f"{keeping.data} holds no file of the tables of dataset {name}, which are "
            f"{', '.join(table.name for table in schema.tables)}; name a directory that holds orders.csv, or orders/, "
            "for a table orders"
        )
    for other in tables.values():
        keeping.note(f"{other.path} is not part of dataset {name}, which has no table {other.name}: it is not uploaded")
    return found


def _files_at(path: str, data: Path, tables: dict[str, FoundTable]) -> list[TableFile]:
    """The files at a path of the schema, which are then no tables of their own."""
    try:
        files = files_at(data, path)
    except DataNotFound:
        return []
    names = {file.path for file in files}
    for key in [key for key, table in tables.items() if {file.path for file in table.files} <= names]:
        del tables[key]
    return files


class KeptUpload(Upload):
    """One upload to a kept dataset. Numbers that the current version has stay with their files; new files follow."""

    def parts(self, table: TableUpload) -> Iterator[Part]:
        complete = table.held.complete or 0
        stored: dict[str, list[int]] = {}
        for seq, receipt in sorted(table.held.parts.items()):
            if seq < complete:
                stored.setdefault(receipt.file, []).append(seq)
        known = [file for file in table.source.files if file.name in stored]
        new = [file for file in table.source.files if file.name not in stored]
        for file in known:
            yield from self._again(table, Source(table.source.spec, [file]), stored[file.name])
        table.total = complete
        for part in self.cut_again(table, Source(table.source.spec, new)):
            yield replace(part, seq=table.total)
            table.total += 1

    def _again(self, table: TableUpload, source: Source, numbers: list[int]) -> Iterator[Part]:
        """The parts of a file that the dataset holds, which must be the same."""
        file = source.files[0].name
        count = 0
        for part in self.cut_again(table, source):
            if count == len(numbers):
                self.refuse(table, f"file {file}: it has grown")
            yield replace(part, seq=numbers[count])
            count += 1
        if count < len(numbers):
            self.refuse(table, f"file {file}: it has shrunk")

    def compare(self, table: TableUpload, part: Part, body: Body, held: PartReceipt) -> None:
        if part.seq >= (table.held.complete or 0) and held.file != part.file.name:
            self._interrupted(table, held)
        super().compare(table, part, body, held)

    def check_new(self, table: TableUpload, part: Part) -> None:
        """Every number beyond the current version is free."""

    def check_count(self, table: TableUpload, count: int) -> None:
        beyond = [each for seq, each in table.held.parts.items() if seq >= table.total]
        if beyond:
            self._interrupted(table, min(beyond, key=lambda each: each.part))

    def complete(self, table: TableUpload) -> None:
        if table.total > (table.held.complete or 0):
            self.complete_with(table, table.total)

    def refuse(self, table: TableUpload, difference: str, cause: Refused | None = None) -> NoReturn:
        raise InputDiffers(
            f"dataset {self._target.name} holds other data: table {table.name}, {difference}. Files that it holds must "
            "not change: give new rows a file of another name, or drop the dataset and upload it again"
        ) from cause

    def _interrupted(self, table: TableUpload, receipt: PartReceipt) -> NoReturn:
        raise InputDiffers(
            f"an upload of other files to table {table.name} of dataset {self._target.name} has not been completed: it "
            f"sent part {receipt.part}, from {receipt.file}. Wait if it is running; otherwise repeat it with the same "
            "files, and add others afterwards"
        )
