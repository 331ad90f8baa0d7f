"""Routes of kept datasets and of SQL over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from cauce.api.jobs import JobStatus
from cauce.api.parts import CompleteAnswer, CompleteBody, Held, PartAnswer, PartsBody
from cauce.api.sql import CheckedSql, SqlRequest
from cauce.gateway.asgi.operations import BINARY, Operation, parameter
from cauce.gateway.asgi.part_headers import number
from cauce.gateway.asgi.problems import bad_request
from cauce.gateway.asgi.request_body import read_json
from cauce.gateway.asgi.responses import json_response
from cauce.gateway.http.part_uploads import (
    HELD_HEADERS,
    MAX_RECEIPTS,
    PART_HEADERS,
    RECEIPT_PAGE,
    PartUploads,
    held_response,
)
from cauce.gateway.jobs.catalogue import DatasetsBody
from cauce.gateway.model import PartBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.job.kept_messages import KeepRequest, KeptDataset
from cauce.scan.formats.table import media_types

Outcome = TypeVar("Outcome")

_FORCE = parameter("force", {"type": "boolean", "default": False}, "Drop it although jobs read it; these fail")


class DatasetRoutes:
    def __init__(self, pool: Pool[Service], uploads: PartUploads) -> None:
        self._pool = pool
        self._uploads = uploads

    def operations(self) -> list[Operation]:
        return [*self._dataset_operations(), *self._table_operations(), *self._sql_operations()]

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

    def _table_operations(self) -> list[Operation]:
        table = "/v1/datasets/{dataset}/tables/{table}"
        return [
            Operation(
                "GET",
                table,
                "keptHeld",
                "List the stored parts of a table of a kept dataset",
                self._held,
                Held,
                "Ranges of part numbers, both ends included; also as headers",
                headers=HELD_HEADERS,
                head=True,
            ),
            Operation(
                "POST",
                table + "/complete",
                "completeKeptTable",
                "Complete a table with its number of parts (idempotent). A higher number than before is a new version",
                self._complete,
                CompleteAnswer,
                "The table is complete",
                body=CompleteBody,
                problems=(409, 413, 415),
            ),
            Operation(
                "GET",
                table + "/parts",
                "keptParts",
                "List the stored parts of a table with digests of their content",
                self._parts,
                PartsBody,
                "Ordered by part number",
                parameters=RECEIPT_PAGE,
            ),
            Operation(
                "PUT",
                table + "/parts/{seq}",
                "putKeptPart",
                "Upload a part of a table (idempotent). Different content under the same number is a 409",
                self._put_part,
                PartAnswer,
                "The same part was stored before",
                created="The part is stored",
                parameters=PART_HEADERS,
                body=dict.fromkeys(media_types(), BINARY),
                problems=(409, 413, 415),
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
        force = _flag(request, "force")
        return json_response(await self._run(owner, name, lambda on: on.kept.drop(owner, name, force=force)))

    async def _held(self, request: Request, owner: str) -> Response:
        name, table = request.path_params["dataset"], request.path_params["table"]
        return held_response(await self._run(owner, name, lambda on: on.kept.held(owner, name, table)))

    async def _parts(self, request: Request, owner: str) -> Response:
        name, table = request.path_params["dataset"], request.path_params["table"]
        first = number(request.query_params.get("from", "0"), "from")
        limit = number(request.query_params.get("limit", str(MAX_RECEIPTS)), "limit", MAX_RECEIPTS, least=1)
        found = await self._run(owner, name, lambda on: on.kept.parts(owner, name, table, first, limit))
        return json_response(found)

    async def _put_part(self, request: Request, owner: str) -> Response:
        name, table = request.path_params["dataset"], request.path_params["table"]
        seq = number(request.path_params["seq"], "part number")

        async def put(part: PartBody) -> bool:
            # A body of a few kilobytes may decompress to many megabytes.
            return await self._pool.run_heavy(
                lambda on: on.kept.put_part(owner, name, table, seq, part), f"{owner}/{name}", owner
            )

        new, _ = await self._uploads.store(request, owner, put)
        return json_response(PartAnswer(seq, new), 201 if new else 200)

    async def _complete(self, request: Request, owner: str) -> Response:
        name, table = request.path_params["dataset"], request.path_params["table"]
        parts = (await read_json(request, CompleteBody)).parts
        new = await self._run(owner, name, lambda on: on.kept.complete(owner, name, table, parts))
        return json_response(CompleteAnswer(table, parts, new))

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


def _flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise bad_request(f"{name} must be true or false, not {text[:40]!r}")
    return text == "true"
