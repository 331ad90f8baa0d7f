"""A job to submit: its dataset, queries and tables, validated before anything is sent."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from cauce.client.job import check_job
from cauce.client.sources import Source, sources_of
from cauce.datasets.given import dataset_of
from cauce.plan import Dataset
from cauce.runner.library import folder_of, parameters_of, queries_of


class Submission:
    def __init__(
        self,
        dataset: str | Path | Dataset,
        data: str | Path | None,
        queries: str | Collection[str] | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        parameters: Mapping[str, str] | None = None,
        job: str | None = None,
    ) -> None:
        self.dataset = dataset_of(dataset)
        queries = queries_of(queries or None)
        parameters = parameters_of(parameters or {})
        self.job = new_job(self.dataset.name) if job is None else check_job(job)
        plan = self.dataset.plan(queries, parameters)
        self.sources: list[Source] = sources_of(plan, None if data is None else folder_of(data), frames or {})
        self.queries = [query.name for query in self.dataset.choose(queries)]
        self.parameters = dict(parameters or {})
        self._all = not queries

    @property
    def request(self) -> dict[str, object]:
        return {
            "dataset": self.dataset.name,
            "queries": [] if self._all else self.queries,
            "parameters": self.parameters,
        }

    @property
    def bytes(self) -> dict[str, int]:
        """Bytes to send of each table."""
        return {source.spec.name: source.bytes for source in self.sources}


def new_job(dataset: str) -> str:
    """Generates a unique job id."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", dataset)[:40].lstrip("._-") or "job"
    return f"{stem}-{secrets.token_hex(5)}"
