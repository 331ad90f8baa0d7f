"""What the service can be asked: its datasets with their tables, files, questions and parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from cauce.datasets import load
from cauce.errors import CauceError
from cauce.gateway.charts import Chart, chart_of
from cauce.plan import Dataset

_KEPT = 256
_MOST_REASON = 1000


class TableInfo(msgspec.Struct, frozen=True):
    """`files` are patterns, in order of preference: the first that fits anything counts."""

    name: str
    files: list[str]
    delimiter: str
    columns: list[str]


class QueryInfo(msgspec.Struct, frozen=True):
    """`tables` are those that the query needs."""

    name: str
    question: str
    columns: list[str]
    tables: list[str]
    chart: Chart | None


class ParameterInfo(msgspec.Struct, frozen=True):
    """The first choice is taken where none is made."""

    name: str
    choices: list[str]
    help: str


class DatasetInfo(msgspec.Struct, frozen=True):
    """`error` is why no job can use the dataset; empty where all is well."""

    name: str
    tables: list[TableInfo]
    queries: list[QueryInfo]
    parameters: list[ParameterInfo]
    error: str = ""


class DatasetsBody(msgspec.Struct, frozen=True):
    datasets: list[DatasetInfo]


def catalogue(datasets: Mapping[str, str]) -> DatasetsBody:
    """`datasets` are the names that clients use, with what `load` takes for each. One that cannot be loaded or planned
    is listed with its error, beside the others."""
    return DatasetsBody([_info(name, path) for name, path in datasets.items()])


def stamp(path: str) -> tuple[int, int]:
    """Changes with the file of a dataset, so that what was derived from it can be kept until then."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def reason(problem: Exception) -> str:
    """Why a dataset cannot be used. Its file is code of the operator's: it may raise anything."""
    words = " ".join(str(problem).split())[:_MOST_REASON]
    if not (isinstance(problem, CauceError) and words):
        words = f"{type(problem).__name__}: {words}"
    return words.rstrip(": ")


def _info(name: str, path: str) -> DatasetInfo:
    try:
        return _known(name, path, stamp(path))
    except Exception as problem:  # noqa: BLE001  # see `reason`
        return DatasetInfo(name, [], [], [], reason(problem))


@lru_cache(_KEPT)
def _known(name: str, path: str, stamp: tuple[int, int]) -> DatasetInfo:
    """Made once for each state of its file: to know which tables a query needs, it is planned."""
    dataset = load(path)
    tables = [
        TableInfo(
            table.spec.name,
            list(table.spec.files),
            table.spec.delimiter,
            [column.header for column in table.spec.columns.values()],
        )
        for table in dataset.tables
    ]
    parameters = [ParameterInfo(each.name, list(each.choices), each.help) for each in dataset.parameters]
    return DatasetInfo(name, tables, _queries(dataset), parameters)


def _queries(dataset: Dataset) -> list[QueryInfo]:
    found: list[QueryInfo] = []
    for query in dataset.queries.values():
        needed = [table.name for table in dataset.plan([query.name]).tables]
        found.append(QueryInfo(query.name, query.question, list(query.columns), needed, chart_of(query.columns)))
    return found
