"""A dataset: its tables, its queries, and the parameters they take."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import PlanError
from cauce.errors import unknown as unknown_name
from cauce.plan.outputs import Output
from cauce.plan.physical import Plan
from cauce.plan.planner import PlannedQuery, make_plan
from cauce.plan.relation import Relation, Table, check_name


@dataclass(frozen=True)
class Parameter:
    """A choice that a user makes for a run, such as which scorer to use. The first choice is the default."""

    name: str
    choices: tuple[str, ...]
    help: str = ""


@dataclass(frozen=True)
class Query:
    """A question: the columns of its answer and a function that declares it (its arguments are parameters)."""

    name: str
    question: str
    columns: Mapping[str, Output]
    declare: Callable[..., Relation]


@dataclass
class Dataset:
    """Tables and the queries on them. `source` is the file that declares it: its digest is the version."""

    name: str
    tables: tuple[Table, ...]
    parameters: tuple[Parameter, ...] = ()
    source: Path | None = None
    queries: dict[str, Query] = field(default_factory=dict)

    def query(self, **columns: Output) -> Callable[[Callable[..., Relation]], Callable[..., Relation]]:
        """Declares the decorated function as a query with these columns; its docstring is the question."""

        def add(declare: Callable[..., Relation]) -> Callable[..., Relation]:
            name = declare.__name__
            check_name("query", name)
            if name in self.queries:
                raise PlanError(f"dataset {self.name} declares {name} twice")
            question = " ".join((inspect.getdoc(declare) or "").split())
            self.queries[name] = Query(name, question, columns, declare)
            return declare

        return add

    @property
    def version(self) -> str:
        """Changes whenever the file that declares the dataset does."""
        text = self.source.read_bytes() if self.source else b""
        return hashlib.sha256(self.name.encode() + b"\0" + text).hexdigest()[:16]

    def choose(self, names: Collection[str] | None) -> list[Query]:
        """These queries in the dataset's order; all of them when none is named."""
        unknown = [name for name in names or () if name not in self.queries]
        if unknown:
            raise unknown_name(f"query of {self.name}:", ", ".join(unknown), self.queries)
        return [query for name, query in self.queries.items() if not names or name in names]

    def settle(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """Every parameter with its value."""
        given = dict(given or {})
        settled: dict[str, str] = {}
        for parameter in self.parameters:
            value = given.pop(parameter.name, parameter.choices[0])
            if value not in parameter.choices:
                raise unknown_name(f"value of {parameter.name}:", value, parameter.choices)
            settled[parameter.name] = value
        if given:
            known = [parameter.name for parameter in self.parameters]
            raise unknown_name(f"parameter of {self.name}:", ", ".join(sorted(given)), known)
        return settled

    def plan(
        self,
        queries: Collection[str] | None = None,
        parameters: Mapping[str, str] | None = None,
        partitions: int = 2,
    ) -> Plan:
        settled = self.settle(parameters)
        planned = []
        for query in self.choose(queries):
            takes = inspect.signature(query.declare).parameters
            unknown = [name for name in takes if name not in settled]
            if unknown:
                raise PlanError(
                    f"{self.name}.{query.name} takes {', '.join(unknown)}, which is no parameter of {self.name}"
                )
            try:
                relation = query.declare(**{name: value for name, value in settled.items() if name in takes})
            except PlanError as problem:
                raise PlanError(f"{self.name}.{query.name}: {problem}") from problem
            planned.append(PlannedQuery(query.name, relation, query.columns))
        return make_plan(self.name, planned, partitions, salt=f"{self.version} {sorted(settled.items())}")
