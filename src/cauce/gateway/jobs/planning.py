"""Plans requested jobs: named queries of a declared dataset, or SQL statements over a kept one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cauce.api.jobs import JobRequest
from cauce.api.sql import SqlRequest
from cauce.datasets.registry import Registry
from cauce.errors import CauceError, SqlError
from cauce.gateway.errors import BadRequest, JobExistsOtherwise
from cauce.gateway.jobs.catalogue import DATASET_ERRORS, reason
from cauce.gateway.limits import ServiceLimits
from cauce.job.kept import KeptVersion
from cauce.job.manifest import PROGRAM, Manifest
from cauce.job.topology import Topology
from cauce.plan import Dataset
from cauce.plan.joins import large_tables
from cauce.plan.physical import Plan
from cauce.sql_frontend.source import SqlSource

MOST_SQL = 200_000
"""Characters of a text of statements."""


@dataclass(frozen=True)
class Planned:
    dataset: Dataset
    plan: Plan
    parameters: dict[str, str]
    sql: SqlSource | None = None
    large: tuple[str, ...] = ()
    """Tables that are not broadcast."""

    def on_version(self, limits: ServiceLimits, on: KeptVersion) -> Planned:
        """For a version of a kept dataset, whose sizes are known: tables that are too large are not broadcast."""
        sizes = {name: table.bytes for name, table in on.tables.items()}
        large = large_tables(sizes, limits.memory.broadcast_bytes) if self.sql is None else ()
        if not large:
            return self
        plan = self.dataset.plan(tuple(self.plan.results), self.parameters, self.plan.partitions, large)
        return replace(self, plan=plan, large=large)

    def manifest(self, limits: ServiceLimits, on: KeptVersion | None = None) -> Manifest:
        """Without the job's name, owner and time."""
        return Manifest(
            "",
            self.dataset.name,
            tuple(self.plan.results),
            self.parameters,
            self.plan.partitions,
            limits.lanes,
            self.plan.digest,
            limits.lanes,
            source=self.dataset.version,
            memory=limits.memory,
            outline=Topology(self.plan, limits.lanes, on).outline(),
            sql=self.sql,
            large=self.large,
            on=on,
            program=PROGRAM,
        )


def plan_named(request: JobRequest, datasets: Registry, limits: ServiceLimits) -> Planned:
    """Raises BadRequest if the dataset, a query or a parameter does not exist."""
    names = datasets.names()
    if request.dataset not in names:
        raise BadRequest(f"dataset {request.dataset[:80]!r} does not exist; expected one of {', '.join(names)}")
    with usable(request.dataset):
        dataset = datasets.load(request.dataset)
    try:
        parameters = dataset.parameter_values(request.parameters)
        dataset.choose(request.queries)
    except CauceError as problem:
        raise BadRequest(reason(problem)) from problem
    with usable(request.dataset):
        plan = dataset.plan(request.queries, parameters, limits.partitions)
    return Planned(dataset, plan, parameters)


def plan_sql(request: SqlRequest, source: SqlSource, datasets: Registry, limits: ServiceLimits) -> Planned:
    """Raises SqlError if a statement is not valid or not supported."""
    # Imported only for such jobs: the parser takes a tenth of a second.
    from cauce.sql_frontend.dataset import dataset_of

    declared = None
    if source.declared:
        with usable(source.declared):
            declared = datasets.load(source.declared)
    try:
        dataset = dataset_of(source, request.parameters, declared=declared)
        parameters = dataset.parameter_values(request.parameters)
        plan = dataset.plan(None, parameters, limits.partitions)
    except SqlError:
        raise
    except CauceError as problem:
        raise BadRequest(reason(problem)) from problem
    return Planned(dataset, plan, parameters, source)


@contextmanager
def usable(dataset: str) -> Iterator[None]:
    """The code of a dataset may raise anything; only the operator can correct it."""
    try:
        yield
    except DATASET_ERRORS as problem:
        raise BadRequest(
            f"dataset {dataset} cannot be used: {reason(problem)}; the operator of this service must correct it"
        ) from problem


@dataclass(frozen=True)
class Asked:
    """The request that created a job: the same id with other values is an error. `sql` is a digest of
    the statements, which determine the queries."""

    dataset: str
    queries: list[str]
    parameters: dict[str, str]
    on: str = ""
    sql: str = ""


def asked(manifest: Manifest) -> Asked:
    return Asked(
        manifest.dataset,
        [] if manifest.sql is not None else list(manifest.queries),
        manifest.parameters,
        "" if manifest.on is None else manifest.on.dataset,
        "" if manifest.sql is None else text_digest(manifest.sql.text),
    )


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def check_same(job: str, standing: Asked, wanted: Asked) -> None:
    """Raises if a job id is reused with a different request, and names the difference."""
    if standing != wanted:
        raise JobExistsOtherwise(
            f"job {job} was created with {_difference(standing, wanted)}: use another id, or send the same request"
        )


def _difference(standing: Asked, wanted: Asked) -> str:
    """The differences between two requests, in words."""
    found: list[str] = []
    if standing.on != wanted.on:
        found.append(f"{_words(standing)}, not {_words(wanted)}")
    if standing.dataset != wanted.dataset:
        found.append(f"dataset {standing.dataset}, not {wanted.dataset}")
    elif standing.sql != wanted.sql:
        found.append("other statements")
    elif standing.queries != wanted.queries:
        found.append(f"queries {', '.join(standing.queries)}, not {', '.join(wanted.queries)}")
    for name in sorted(standing.parameters.keys() | wanted.parameters.keys()):
        before, now = standing.parameters.get(name, "none"), wanted.parameters.get(name, "none")
        if before != now:
            found.append(f"parameter {name}={before}, not {name}={now}")
    return " and ".join(found)


def _words(asked: Asked) -> str:
    return f"the kept dataset {asked.on}" if asked.on else "data of its client"
