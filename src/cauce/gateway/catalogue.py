"""What the service can be asked: its datasets with their tables, files, questions and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from cauce.datasets import load
from cauce.gateway.charts import Chart, chart_of
from cauce.plan import Dataset


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
    name: str
    tables: list[TableInfo]
    queries: list[QueryInfo]
    parameters: list[ParameterInfo]


class DatasetsBody(msgspec.Struct, frozen=True):
    datasets: list[DatasetInfo]


def catalogue(datasets: Mapping[str, str]) -> DatasetsBody:
    """`datasets` are the names that clients use, with what `load` takes for each."""
    return DatasetsBody([_known(name, path) for name, path in datasets.items()])


@cache
def _known(name: str, path: str) -> DatasetInfo:
    """Made once: to know which tables a query needs, it is planned."""
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
