"""A dataset: its tables, its queries, and the parameters they take."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from cauce.errors import PlanError, did_you_mean
from cauce.errors import unknown as unknown_name
from cauce.plan.checks.arguments import checked, instance, listed, shown_value, text, whole_number
from cauce.plan.checks.mistakes import located, place
from cauce.plan.checks.source_text import without_comments
from cauce.plan.checks.table_arguments import check_name
from cauce.plan.checks.type_checks import Misplaced, check_types, fitted_outputs
from cauce.plan.joins import partition_large_sides
from cauce.plan.outputs import Output, decimal
from cauce.plan.physical import Plan
from cauce.plan.planner import PlannedQuery, make_plan
from cauce.plan.relation import Grouped, Relation, Table
from cauce.process.isolation import isolated
from cauce.scan.discovery import find_files
from cauce.scan.parts import TableFile
from cauce.scan.tables import TableSpec

_OUTPUTS = "TEXT, INTEGER, FLOAT, DATE, TEXT_LIST, DECIMAL, decimal(n) or decimal(n, unscaled=True)"


@dataclass(frozen=True)
class Parameter:
    """A choice that a user makes for a run, such as which scorer to use. The first choice is the default.

    >>> Dataset("shop", (orders,), parameters=(Parameter("year", ("2025", "2024")),))
    """

    name: str
    choices: tuple[str, ...]
    help: str = ""

    def __post_init__(self) -> None:
        text("Parameter: name", self.name, "year")
        choices: object = self.choices
        if isinstance(choices, str) or not isinstance(choices, Collection) or not choices:
            raise PlanError(f'parameter {self.name}: choices must be texts, such as ("2024", "2025")')
        for each in self.choices:
            text(f"parameter {self.name}: a choice", each, "2024")


@dataclass(frozen=True)
class Query:
    """A named query: its output columns and the function that declares it (its arguments are parameters)."""

    name: str
    question: str
    columns: Mapping[str, Output]
    declare: Callable[..., Relation]

    @property
    def file(self) -> str:
        """The file that defines the function, or the function's name if the file is unknown."""
        code = getattr(inspect.unwrap(self.declare), "__code__", None)
        return code.co_filename if code else self.name

    @property
    def place(self) -> str:
        code = getattr(inspect.unwrap(self.declare), "__code__", None)
        return place(self.file, code.co_firstlineno if code else None)


@dataclass
class Dataset:
    """Tables and the queries on them. `source` is the declaring file; its digest is the dataset's version.

    >>> dataset = Dataset("shop", (orders, stores), source=Path(__file__))
    """

    runs_user_code: ClassVar[bool] = True

    name: str
    tables: tuple[Table, ...]
    parameters: tuple[Parameter, ...] = ()
    source: Path | None = None
    queries: dict[str, Query] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name("dataset", self.name)
        tables: object = self.tables
        if not isinstance(tables, Collection):
            raise PlanError(f"dataset {self.name}: tables must be a tuple or list of tables, such as (orders,)")
        for each in self.tables:
            instance(f"dataset {self.name}: a table", each, Table, 'a Table(...), such as Table("orders", ...)')
        names = [table.spec.name for table in self.tables]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PlanError(f"dataset {self.name} has two tables named {listed(twice)}")
        for parameter in self.parameters:
            instance(f"dataset {self.name}: a parameter", parameter, Parameter, "a Parameter(...)")
        self.source = None if self.source is None else Path(self.source)

    @checked
    def query(self, **columns: Output) -> Callable[[Callable[..., Relation]], Callable[..., Relation]]:
        """Registers the decorated function as a query with these output columns; its docstring describes it.

        >>> @dataset.query(customer=TEXT, spent=decimal(2))
        ... def regulars() -> Relation: ...
        """

        def add(declare: Callable[..., Relation]) -> Callable[..., Relation]:
            name = declare.__name__
            check_name("query", name)
            _check_outputs(name, columns)
            if name in self.queries:
                raise PlanError(f"dataset {self.name} declares {name} twice")
            question = " ".join((inspect.getdoc(declare) or "").split())
            self.queries[name] = Query(name, question, columns, declare)
            return declare

        return add

    @property
    def version(self) -> str:
        """Digest of the declaring file's code, without comments and blank lines."""
        text = without_comments(self.source.read_bytes()) if self.source else b""
        return hashlib.sha256(self.name.encode() + b"\0" + text).hexdigest()[:16]

    def find_files(self, data: Path, spec: TableSpec) -> list[TableFile]:
        """The files of a table in a data folder. Raises DataNotFound if there is none."""
        return find_files(data, spec)

    def choose(self, names: Collection[str] | None) -> list[Query]:
        """The named queries in declaration order; all queries if `names` is empty."""
        unknown = [name for name in names or () if name not in self.queries]
        if unknown:
            raise unknown_name(f"query of {self.name}:", ", ".join(unknown), self.queries)
        return [query for name, query in self.queries.items() if not names or name in names]

    def parameter_values(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """The value of every parameter: the given one or the default."""
        given = dict(given or {})
        values: dict[str, str] = {}
        for parameter in self.parameters:
            value = given.pop(parameter.name, parameter.choices[0])
            if value not in parameter.choices:
                raise unknown_name(f"value of {parameter.name}:", value, parameter.choices)
            values[parameter.name] = value
        if given:
            known = [parameter.name for parameter in self.parameters]
            raise unknown_name(f"parameter of {self.name}:", ", ".join(sorted(given)), known)
        return values

    def plan(
        self,
        queries: Collection[str] | None = None,
        parameters: Mapping[str, str] | None = None,
        partitions: int = 2,
        large: Collection[str] = (),
        *,
        isolate: bool = True,
    ) -> Plan:
        """The plan of these queries (default: all), with arguments and types checked. `large` are tables that are not
        broadcast.

        With `isolate`, types are inferred in a forked child process if queries run code of users: see isolation.py.
        """
        whole_number("partitions", partitions, 1)
        values = self.parameter_values(parameters)
        chosen = self.choose(queries)
        relations = [self._declared(query, values) for query in chosen]

        def fitted() -> list[dict[str, Output]]:
            pairs = zip(chosen, relations, strict=True)
            return [self._outputs(query, relation, self._declared_columns(query, values)) for query, relation in pairs]

        columns = isolated(fitted) if isolate and self.runs_user_code else fitted()
        planned = [
            PlannedQuery(query.name, _partitioned(relation, large), outputs, self._prefix(query))
            for query, relation, outputs in zip(chosen, relations, columns, strict=True)
        ]
        return make_plan(self.name, planned, partitions, salt=f"{self.version} {sorted(values.items())}")

    def _prefix(self, query: Query) -> str:
        """The prefix of a query's error messages: its location in the file and its name."""
        return f"{query.place}: {self.name}.{query.name}: "

    def _declared(self, query: Query, values: Mapping[str, str]) -> Relation:
        """The relation that a query's function returns."""
        takes = inspect.signature(query.declare).parameters
        unknown = [name for name in takes if name not in values]
        if unknown:
            hint = did_you_mean(unknown[0], values)
            what = "which is not a parameter of the dataset; declare it with Dataset(..., parameters=(Parameter(...),))"
            raise PlanError(f"{self._prefix(query)}the function takes {listed(unknown)}, {what}{hint}")
        try:
            relation = query.declare(**{name: value for name, value in values.items() if name in takes})
        except (Exception, SystemExit) as problem:  # noqa: BLE001
            raise located(problem, query.file, f"{self.name}.{query.name}") from None
        _check_returned(self._prefix(query), relation)
        return relation

    def _declared_columns(self, query: Query, values: Mapping[str, str]) -> Mapping[str, Output]:
        return query.columns

    def _outputs(self, query: Query, relation: Relation, columns: Mapping[str, Output]) -> dict[str, Output]:
        """Checks the column types of a query and returns its outputs adapted to them."""
        try:
            check_types(relation.node)
            return fitted_outputs(relation.node.schema, columns)
        except Misplaced as problem:
            raise PlanError(f"{problem.place}: {self.name}.{query.name}: {problem}") from None
        except PlanError as problem:
            raise PlanError(f"{self._prefix(query)}{problem}") from None


def _partitioned(relation: Relation, large: Collection[str]) -> Relation:
    return Relation(partition_large_sides(relation.node, large)) if large else relation


def _check_outputs(query: str, columns: Mapping[str, object]) -> None:
    if not columns:
        raise PlanError(f"query {query} declares no columns; write @dataset.query(title=TEXT, n=INTEGER)")
    for name, output in columns.items():
        if output is decimal:
            raise PlanError(f"query {query}: {name} needs a number of decimals; write {name}=decimal(2)")
        if not isinstance(output, Output):
            raise PlanError(f"query {query}: {name}={shown_value(output)} is not an output; expected {_OUTPUTS}")


def _check_returned(prefix: str, relation: object) -> None:
    if relation is None:
        raise PlanError(f"{prefix}the function returns nothing; end it with return and a relation")
    if isinstance(relation, Grouped):
        raise PlanError(f"{prefix}the function returns a group_by without aggregates; add .agg(n=agg.count())")
    if not isinstance(relation, Relation):
        kind = type(relation).__name__
        raise PlanError(f"{prefix}the function returns a {kind}, not a relation; start from a table of the dataset")
