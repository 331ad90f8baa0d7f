"""A job to submit: its dataset, queries and tables, validated before anything is sent."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
import polars as pl

from cauce.api.names import check_job
from cauce.api.sql import SqlRequest
from cauce.client.results import job_path
from cauce.client.sources import Source, sources_of
from cauce.datasets.given import dataset_of
from cauce.errors import UsageError
from cauce.job.kept_messages import KeptDataset
from cauce.plan import Dataset
from cauce.runner.library import folder_of, parameters_of, queries_of
from cauce.schema import DatasetSchema
from cauce.sql_frontend.source import SqlSource


class Submission:
    def __init__(
        self,
        dataset: str | Path | Dataset,
        data: str | Path | None,
        queries: str | Collection[str] | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        parameters: Mapping[str, str] | None = None,
        job: str | None = None,
        on: str = "",
    ) -> None:
        """With `on`, the job reads this kept dataset, and nothing is sent."""
        self.dataset = dataset_of(dataset)
        queries = queries_of(queries or None)
        parameters = parameters_of(parameters or {})
        self.job = new_job(self.dataset.name) if job is None else check_job(job)
        plan = self.dataset.plan(queries, parameters)
        folder = None if data is None else folder_of(data)
        self.sources: list[Source] = [] if on else sources_of(plan, folder, frames or {})
        self.specs = list(plan.tables)
        self.on = on
        self.queries = [query.name for query in self.dataset.choose(queries)]
        self.parameters = dict(parameters or {})
        self._all = not queries

    @property
    def creation(self) -> tuple[str, str, bytes]:
        """The request that creates the job: method, path and body."""
        return "PUT", job_path(self.job), msgspec.json.encode(self.request)

    @property
    def request(self) -> dict[str, object]:
        return {
            "dataset": self.dataset.name,
            "queries": [] if self._all else self.queries,
            "parameters": self.parameters,
            **({"on": self.on} if self.on else {}),
        }

    @property
    def bytes(self) -> dict[str, int]:
        """Bytes to send of each table."""
        return {source.spec.name: source.bytes for source in self.sources}


class SqlSubmission:
    """Statements over a kept dataset. `dataset` is what they mean by its schema, None if that is not known here."""

    def __init__(
        self, text: str, on: str, parameters: Mapping[str, object], job: str | None, kept: KeptDataset | None = None
    ) -> None:
        if not isinstance(text, str):
            raise UsageError(f"the statements must be a text, not {text!r}")
        self.job = new_job("sql") if job is None else check_job(job)
        self.on = on
        self.text = text
        self.parameters = parameters_of(parameters)
        self.sources: list[Source] = []
        self.bytes: dict[str, int] = {}
        self.dataset = None if kept is None else _declaration(self, kept)
        self.specs = [] if self.dataset is None else list(self.dataset.plan(None, self.parameters).tables)
        self.queries = [] if self.dataset is None else list(self.dataset.queries)

    @property
    def creation(self) -> tuple[str, str, bytes]:
        request = SqlRequest(self.text, self.on, self.job, self.parameters)
        return "POST", "/v1/sql", msgspec.json.encode(request)


def _declaration(submission: SqlSubmission, kept: KeptDataset) -> Dataset:
    from cauce.sql_frontend.dataset import dataset_of as sql_dataset_of

    declared = dataset_of(kept.declared) if kept.declared else None
    source = SqlSource(submission.text, kept.schema or DatasetSchema(), declared=kept.declared or "")
    return sql_dataset_of(source, submission.parameters, declared=declared)


def new_job(dataset: str) -> str:
    """Generates a unique job id."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", dataset)[:40].lstrip("._-") or "job"
    return f"{stem}-{secrets.token_hex(5)}"
