"""Jobs over kept datasets: SQL statements, and named queries of declared datasets. They need no upload."""

from __future__ import annotations

import secrets

from cauce.api.jobs import JobRequest, JobStatus
from cauce.api.sql import AnswerBody, CheckedSql, ColumnBody, SqlRequest
from cauce.datasets.registry import Registry
from cauce.errors import CauceError, SqlError
from cauce.gateway.errors import BadRequest, NoSuchTable
from cauce.gateway.jobs.catalogue import reason
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.jobs.planning import MOST_SQL, Asked, Planned, plan_named, plan_sql, text_digest
from cauce.gateway.kept.dataset_service import KeptDatasets
from cauce.gateway.kept.read_model import KeptView
from cauce.gateway.limits import ServiceLimits
from cauce.schema import DatasetSchema
from cauce.sql_frontend.source import SqlSource

_ID_BYTES = 6


class KeptJobs:
    def __init__(self, limits: ServiceLimits, jobs: Jobs, kept: KeptDatasets, datasets: Registry) -> None:
        self._limits = limits
        self._jobs = jobs
        self._kept = kept
        self._datasets = datasets

    def sql(self, owner: str, request: SqlRequest) -> tuple[JobStatus, bool]:
        """Starts a job that answers statements; True if it is new. Raises SqlError before any work if a statement is
        not valid or not supported."""
        _check_text(request.sql)
        job = request.job if request.job is not None else f"sql-{secrets.token_hex(_ID_BYTES)}"
        existing = self._jobs.existing(owner, job, _asked_sql(request)) if request.job is not None else None
        if existing is not None:
            return existing, False
        view = self._kept.open(owner, request.on, consistent=True)
        return self._create(owner, job, view, self._planned(view, request))

    def check(self, owner: str, request: SqlRequest) -> CheckedSql:
        """The columns of the answers. Raises SqlError. Starts nothing."""
        _check_text(request.sql)
        view = self._kept.open(owner, request.on)
        planned = self._planned(view, request)
        from cauce.sql_frontend.dataset import SqlDataset

        assert isinstance(planned.dataset, SqlDataset)
        answers = planned.dataset.answers(planned.parameters).values()
        return CheckedSql(
            [
                AnswerBody(answer.name, [ColumnBody(name, str(kind).lower()) for name, kind in answer.types.items()])
                for answer in answers
            ]
        )

    def named(self, owner: str, job: str, request: JobRequest) -> tuple[JobStatus, bool]:
        """Starts a job that answers named queries; True if it is new."""
        planned = plan_named(request, self._datasets, self._limits)
        wanted = Asked(request.dataset, list(planned.plan.results), planned.parameters, request.on)
        existing = self._jobs.existing(owner, job, wanted)
        if existing is not None:
            return existing, False
        view = self._kept.open(owner, request.on, consistent=True)
        return self._create(owner, job, view, planned)

    def _planned(self, view: KeptView, request: SqlRequest) -> Planned:
        return plan_sql(request, _source(view, request.sql), self._datasets, self._limits)

    def _create(self, owner: str, job: str, view: KeptView, planned: Planned) -> tuple[JobStatus, bool]:
        tables = [spec.name for spec in planned.plan.tables]
        lacking = [table for table in tables if table not in view.manifest.tables]
        if lacking:
            known = ", ".join(stored.name for stored in view.manifest.tables.values())
            raise NoSuchTable(
                f"dataset {view.manifest.name} has no table {' and no table '.join(lacking)}; it has {known}"
            )
        version = view.version_of(tables)
        manifest = planned.on_version(self._limits, version).manifest(self._limits, version)
        return self._jobs.create_planned(owner, job, manifest, lambda: self._kept.verify(version))


def _source(view: KeptView, text: str) -> SqlSource:
    manifest = view.manifest
    if manifest.schema is None:
        return SqlSource(text, DatasetSchema(), declared=manifest.declared)
    rows = {stored.name: view.rows(table) for table, stored in manifest.tables.items()}
    return SqlSource(text, _named(manifest.schema, text), rows)


def _named(schema: DatasetSchema, text: str) -> DatasetSchema:
    """The tables that the statements name. All of them if a name is unknown, so that the error can list them."""
    from cauce.sql_frontend.references import tables_named

    names = {name.lower() for name in tables_named(text)}
    chosen = tuple(table for table in schema.tables if table.name.lower() in names)
    return DatasetSchema(chosen) if len(chosen) == len(names) else schema


def _asked_sql(request: SqlRequest) -> Asked:
    """The request as an existing job stores it. Needs no kept dataset, which may have been dropped since."""
    from cauce.sql_frontend.dataset import NAME, SqlDataset

    try:
        parameters = SqlDataset(NAME, (), texts=(request.sql,)).parameter_values(request.parameters)
    except SqlError:
        raise
    except CauceError as problem:
        raise BadRequest(reason(problem)) from problem
    return Asked(NAME, [], parameters, request.on, text_digest(request.sql))


def _check_text(text: str) -> None:
    if len(text) > MOST_SQL:
        raise BadRequest(f"the statements have {len(text):,} characters; at most {MOST_SQL:,} are allowed")
