"""Catalogue of the service's datasets, with their tables, files, queries and parameters."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import polars as pl

from cauce.datasets.registry import Registry, Stamp
from cauce.errors import CauceError
from cauce.gateway.jobs.charts import Chart, chart_of
from cauce.gateway.public_text import without_folders
from cauce.job.kept_messages import KeptDataset
from cauce.plan import Dataset

DATASET_ERRORS = (Exception, SystemExit, pl.exceptions.PanicException)
"""Everything that the code of a dataset may raise, except the interruption of this process."""
_KEPT = 256
_MOST_REASON = 1000


class TableInfo(msgspec.Struct, frozen=True):
    """`files` are patterns in order of preference: the first with a match is used."""

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
    """The first choice is the default."""

    name: str
    choices: list[str]
    help: str


class DatasetInfo(msgspec.Struct, frozen=True):
    """`error` is the reason why no job can use the dataset; empty if it is usable."""

    name: str
    tables: list[TableInfo]
    queries: list[QueryInfo]
    parameters: list[ParameterInfo]
    error: str = ""


class DatasetsBody(msgspec.Struct, frozen=True):
    """`datasets` are declared for all callers, `kept` are those that the caller has uploaded."""

    datasets: list[DatasetInfo]
    kept: list[KeptDataset] = []


def catalogue(datasets: Registry) -> list[DatasetInfo]:
    """All datasets. One that cannot be loaded or planned is listed with its error."""
    return [_info(name, datasets) for name in datasets.names()]


def reason(problem: BaseException) -> str:
    """Why a dataset cannot be used. Its file is the operator's code and may raise anything."""
    words = " ".join(str(problem).split())[:_MOST_REASON]
    if not (isinstance(problem, CauceError) and words):
        words = f"{type(problem).__name__}: {words}"
    return words.rstrip(": ")


def _info(name: str, datasets: Registry) -> DatasetInfo:
    try:
        return _known(name, datasets, datasets.stamp(name))
    except DATASET_ERRORS as problem:
        return DatasetInfo(name, [], [], [], without_folders(reason(problem)))


@lru_cache(_KEPT)
def _known(name: str, datasets: Registry, stamp: Stamp) -> DatasetInfo:
    """Cached by file version, because finding the tables of a query requires planning it."""
    dataset = datasets.load(name)
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
