"""Routes of jobs and uploads. A handler parses the request, calls the job service in the pool, encodes the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from cauce.api.http import REFERENCE
from cauce.api.jobs import JobRequest, JobsBody, JobStatus, WhyBody
from cauce.api.parts import CompleteAnswer, CompleteBody, Held, PartAnswer, PartsBody
from cauce.gateway.asgi.operations import BINARY, Operation, parameter, whole_number
from cauce.gateway.asgi.part_headers import number
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
from cauce.gateway.jobs.job_service import MOST_LISTED
from cauce.gateway.jobs.progress.bottleneck import with_notice
from cauce.gateway.jobs.result_cursor import LIST_CURSOR
from cauce.gateway.model import PartBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.status_polling import StatusPolling
from cauce.process.traces import PartName, Traces
from cauce.scan.formats.table import media_types

Outcome = TypeVar("Outcome")

_LIST_PAGE = (
    parameter(
        "cursor", {"type": "string", "maxLength": 100, "pattern": f"^{LIST_CURSOR}$"}, "`next` of the previous page"
    ),
    parameter("limit", whole_number(1, MOST_LISTED, MOST_LISTED), "Maximum number of jobs"),
)


class JobRoutes:
    def __init__(
        self,
        pool: Pool[Service],
        uploads: PartUploads,
        watching: StatusPolling,
        traces: Traces | None,
    ) -> None:
        self._pool = pool
        self._uploads = uploads
        self._watching = watching
        self._traces = traces

    def operations(self) -> list[Operation]:
        job = "/v1/jobs/{job}"
        table = job + "/tables/{table}"
        return [
            Operation(
                "GET",
                "/v1/jobs",
                "listJobs",
                "List the jobs of the caller",
                self._list,
                JobsBody,
                "Oldest first",
                parameters=_LIST_PAGE,
            ),
            Operation("GET", job, "jobStatus", "Status of a job", self._status, JobStatus, "The status"),
            Operation(
                "PUT",
                job,
                "createJob",
                "Create a job (idempotent)",
                self._create,
                JobStatus,
                "The same job exists already",
                created="Created",
                body=JobRequest,
                problems=(409, 413, 415),
            ),
            Operation(
                "DELETE",
                job,
                "cancelJob",
                "Cancel a job and release its resources (idempotent)",
                self._cancel,
                JobStatus,
                "The final status",
                problems=(409,),
            ),
            Operation(
                "GET",
                job + "/why",
                "why",
                "Diagnose what a job is waiting for, in one sentence",
                self._why,
                WhyBody,
                "The sentence",
            ),
            Operation(
                "GET",
                table,
                "held",
                "List the stored parts of a table",
                self._held,
                Held,
                "Ranges of part numbers, both ends included; also as headers",
                headers=HELD_HEADERS,
                problems=(409,),
                head=True,
            ),
            Operation(
                "POST",
                table + "/complete",
                "completeTable",
                "Complete a table with its number of parts (idempotent)",
                self._complete,
                CompleteAnswer,
                "The table is complete",
                body=CompleteBody,
                problems=(409, 413, 415),
            ),
            Operation(
                "GET",
                table + "/parts",
                "parts",
                "List the stored parts of a table with digests of their content, also after the job has ended",
                self._parts,
                PartsBody,
                "Ordered by part number",
                parameters=RECEIPT_PAGE,
                problems=(409,),
            ),
            Operation(
                "PUT",
                table + "/parts/{seq}",
                "putPart",
                "Upload a part of a table (idempotent). Different content under the same number is a 409, also after "
                "the job has ended",
                self._put_part,
                PartAnswer,
                "The same part was stored before",
                created="The part is stored",
                parameters=PART_HEADERS,
                body=dict.fromkeys((*media_types(), REFERENCE), BINARY),
                problems=(409, 413, 415),
            ),
        ]

    async def _run(self, owner: str, job: str, step: Callable[[Service], Outcome]) -> Outcome:
        """Runs a step in the pool, preferably in the thread that has the job cached."""
        return await self._pool.run(step, f"{owner}.{job}")

    async def _list(self, request: Request, owner: str) -> Response:
        cursor = request.query_params.get("cursor")
        limit = number(request.query_params.get("limit", str(MOST_LISTED)), "limit", MOST_LISTED, least=1)
        page = await self._pool.run(lambda on: on.jobs.list_page(owner, cursor, limit), "list")
        return json_response(JobsBody(await self._watching.workforce.all_noted(owner, page.jobs), page.next))

    async def _status(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        status = await self._run(owner, job, lambda on: on.jobs.status(owner, job))
        return json_response(await self._watching.workforce.noted(owner, status))

    async def _why(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        why = await self._run(owner, job, lambda on: on.jobs.why(owner, job))
        return json_response(WhyBody(with_notice(await self._watching.status(owner, job), why)))

    async def _create(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        requested = await read_json(request, JobRequest)
        status, created = await self._run(owner, job, lambda on: on.create(owner, job, requested))
        return json_response(status, 201 if created else 200)

    async def _cancel(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        return json_response(await self._run(owner, job, lambda on: on.jobs.cancel(owner, job)))

    async def _put_part(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        seq = number(request.path_params["seq"], "part number")
        started_at = time.time()

        async def put(part: PartBody) -> bool:
            # A body of a few kilobytes may decompress to many megabytes.
            return await self._pool.run_heavy(
                lambda on: on.jobs.put_part(owner, job, table, seq, part), f"{owner}.{job}", owner
            )

        new, size = await self._uploads.store(request, owner, put)
        if new and self._traces is not None:
            self._traces.received(PartName(f"{owner}.{job}", table, seq), started_at, time.time(), size)
        return json_response(PartAnswer(seq, new), 201 if new else 200)

    async def _held(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        return held_response(await self._run(owner, job, lambda on: on.jobs.held(owner, job, table)))

    async def _parts(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        first = number(request.query_params.get("from", "0"), "from")
        limit = number(request.query_params.get("limit", str(MAX_RECEIPTS)), "limit", MAX_RECEIPTS, least=1)
        found = await self._run(owner, job, lambda on: on.jobs.parts(owner, job, table, first, limit))
        return json_response(found)

    async def _complete(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        parts = (await read_json(request, CompleteBody)).parts
        new = await self._run(owner, job, lambda on: on.jobs.complete(owner, job, table, parts))
        return json_response(CompleteAnswer(table, parts, new))
