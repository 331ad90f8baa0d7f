"""A dataset whose queries are SQL statements: one job answers all statements of its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from cauce.errors import unknown
from cauce.plan.dataset import Dataset, Query
from cauce.plan.outputs import Output
from cauce.plan.relation import Relation
from cauce.scan.parts import TableFile
from cauce.scan.tables import TableSpec
from cauce.schema import files_of, spec_of
from cauce.sql_frontend.answers import Answer, answers_of
from cauce.sql_frontend.catalogue import Catalogue, catalogue_of, catalogue_of_schema
from cauce.sql_frontend.parse import parse
from cauce.sql_frontend.references import parameters_named
from cauce.sql_frontend.source import SqlSource

NAME = "sql"


@dataclass
class SqlDataset(Dataset):
    """`texts` and the tables identify the queries: every process builds the same plan from them and the parameters."""

    runs_user_code: ClassVar[bool] = False

    texts: tuple[str, ...] = ()
    catalogue: Catalogue = field(default_factory=Catalogue)
    sql: SqlSource | None = None
    """Set if other processes can build the dataset from it alone."""
    _translated: dict[tuple[tuple[str, str], ...], dict[str, Answer]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        parts = list(self.texts)
        for table in self.tables:
            spec = table.spec
            parts.append(f"{spec.name} {dict(spec.columns)} {spec.required} {spec.delimiter} {spec.null}")
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def parameter_values(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """The value of every parameter: the given one or the default. A parameter without a default must be given if
        a statement uses it, which its translation checks."""
        defaults = {name: value for text in self.texts for name, value in parse(text).defaults.items()}
        if not given:
            return defaults
        known = {*defaults, *(name for text in self.texts for name in parameters_named(text))}
        other = sorted(set(given) - known)
        if other:
            raise unknown("parameter:", ", ".join(other), sorted(known))
        return {**defaults, **given}

    def answers(self, values: Mapping[str, str]) -> dict[str, Answer]:
        """Every statement translated with these parameters. Raises SqlError if one is not valid or not supported."""
        key = tuple(sorted(values.items()))
        if key not in self._translated:
            found = [answer for text in self.texts for answer in answers_of(text, self.catalogue, values)]
            self._translated[key] = {answer.name: answer for answer in found}
        return self._translated[key]

    def add_queries(self, given: Mapping[str, str] | None = None, questions: Mapping[str, str] | None = None) -> None:
        """Declares the statements as queries, translated with these parameters."""
        values = self.parameter_values(given)
        for name, answer in self.answers(values).items():
            self.queries[name] = Query(name, (questions or {}).get(name, ""), answer.outputs, _declare(answer))

    def _declared(self, query: Query, values: Mapping[str, str]) -> Relation:
        return self.answers(values)[query.name].relation

    def _declared_columns(self, query: Query, values: Mapping[str, str]) -> Mapping[str, Output]:
        return self.answers(values)[query.name].outputs

    def find_files(self, data: Path, spec: TableSpec) -> list[TableFile]:
        if self.sql is None:
            return super().find_files(data, spec)
        (schema,) = (table for table in self.sql.schema.tables if spec_of(table).name == spec.name)
        return files_of(schema, data)


def dataset_of(
    source: SqlSource,
    parameters: Mapping[str, str] | None = None,
    name: str = NAME,
    declared: Dataset | None = None,
) -> SqlDataset:
    """Raises SqlError before any work if a statement is not valid or not supported. `declared` is the dataset that the
    source names."""
    if declared is None:
        catalogue = catalogue_of_schema(source.schema, source.rows, source.patterns)
    else:
        catalogue = catalogue_of(declared.tables)
    dataset = sql_dataset(source.text, catalogue, parameters, name)
    dataset.sql = source
    return dataset


def sql_dataset(
    text: str, catalogue: Catalogue, parameters: Mapping[str, str] | None = None, name: str = NAME
) -> SqlDataset:
    """The dataset of a text. Raises SqlError before any work if a statement is not valid or not supported."""
    dataset = SqlDataset(name, tuple(table.table for table in catalogue.tables), texts=(text,), catalogue=catalogue)
    dataset.add_queries(parameters)
    return dataset


def _declare(answer: Answer) -> Callable[[], Relation]:
    def declare() -> Relation:
        return answer.relation

    return declare
