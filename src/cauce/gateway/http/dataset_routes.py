"""Routes of kept datasets and of SQL over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from cauce.api.jobs import JobStatus
from cauce.api.sql import CheckedSql, SqlRequest
from cauce.gateway.asgi.application import flag, json_response, read_json
from cauce.gateway.asgi.operations import Operation, parameter
from cauce.gateway.jobs.catalogue import DatasetsBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.job.kept_messages import KeepRequest, KeptDataset

Outcome = TypeVar("Outcome")

_FORCE = parameter("force", {"type": "boolean", "default": False}, "Drop it although jobs read it; these fail")


class DatasetRoutes:
    def __init__(self, pool: Pool[Service]) -> None:
        self._pool = pool

    def operations(self) -> list[Operation]:
        return [*self._dataset_operations(), *self._sql_operations()]

    def _dataset_operations(self) -> list[Operation]:
        dataset = "/v1/datasets/{dataset}"
        return [
            Operation(
                "GET",
                "/v1/datasets",
                "datasets",
                "The declared datasets, with their queries and tables, and the kept datasets of the caller",
                self._list,
                DatasetsBody,
                "With tables and queries",
            ),
            Operation(
                "GET", dataset, "keptDataset", "A kept dataset", self._get, KeptDataset, "Its tables and version"
            ),
            Operation(
                "PUT",
                dataset,
                "keepDataset",
                "Create a kept dataset (idempotent)",
                self._create,
                KeptDataset,
                "The same dataset exists already",
                created="Created",
                body=KeepRequest,
                problems=(409, 413, 415),
            ),
            Operation(
                "DELETE",
                dataset,
                "dropDataset",
                "Drop a kept dataset and remove its data. Refused while jobs read it, unless it is forced",
                self._drop,
                KeptDataset,
                "Its last state",
                parameters=(_FORCE,),
                problems=(409,),
            ),
        ]

    def _sql_operations(self) -> list[Operation]:
        return [
            Operation(
                "POST",
                "/v1/sql",
                "sql",
                "Start a job that answers SQL statements over a kept dataset (idempotent if it names a job)",
                self._sql,
                JobStatus,
                "The same job exists already",
                created="Created",
                body=SqlRequest,
                problems=(409, 413, 415),
            ),
            Operation(
                "POST",
                "/v1/sql/check",
                "checkSql",
                "The columns of the answers of SQL statements. Starts nothing",
                self._check,
                CheckedSql,
                "The answers",
                body=SqlRequest,
                problems=(409, 413, 415),
            ),
        ]

    async def _run(self, owner: str, name: str, step: Callable[[Service], Outcome]) -> Outcome:
        """Runs a step in the pool, preferably in the thread that has the dataset cached."""
        return await self._pool.run(step, f"{owner}/{name}")

    async def _list(self, request: Request, owner: str) -> Response:
        declared = await self._pool.run(lambda on: on.jobs.datasets(), "datasets")
        kept = await self._pool.run(lambda on: on.kept.list(owner), "kept")
        return json_response(DatasetsBody(declared, kept))

    async def _get(self, request: Request, owner: str) -> Response:
        name = request.path_params["dataset"]
        return json_response(await self._run(owner, name, lambda on: on.kept.get(owner, name)))

    async def _create(self, request: Request, owner: str) -> Response:
        name = request.path_params["dataset"]
        requested = await read_json(request, KeepRequest)
        found, created = await self._run(owner, name, lambda on: on.kept.create(owner, name, requested))
        return json_response(found, 201 if created else 200)

    async def _drop(self, request: Request, owner: str) -> Response:
        name = request.path_params["dataset"]
        force = flag(request, "force")
        return json_response(await self._run(owner, name, lambda on: on.kept.drop(owner, name, force=force)))

    async def _sql(self, request: Request, owner: str) -> Response:
        requested = await read_json(request, SqlRequest)
        status, created = await self._pool.run_heavy(
            lambda on: on.kept_jobs.sql(owner, requested), f"{owner}/{requested.on}", owner
        )
        return json_response(status, 201 if created else 200)

    async def _check(self, request: Request, owner: str) -> Response:
        requested = await read_json(request, SqlRequest)
        found = await self._pool.run_heavy(
            lambda on: on.kept_jobs.check(owner, requested), f"{owner}/{requested.on}", owner
        )
        return json_response(found)
