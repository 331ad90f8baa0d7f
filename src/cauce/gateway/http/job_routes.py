"""Routes of jobs. A handler parses the request, calls the job service in the pool, encodes the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.api.jobs import JobRequest, JobsBody, JobStatus, WhyBody
from cauce.gateway.asgi.application import flag, json_response, number, read_json
from cauce.gateway.asgi.operations import ALL_OWNERS, Operation, parameter, whole_number
from cauce.gateway.jobs.progress.bottleneck import with_notice
from cauce.gateway.jobs.progress.job_list import MOST_LISTED
from cauce.gateway.jobs.result_cursor import LIST_CURSOR
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.status_polling import StatusPolling

Outcome = TypeVar("Outcome")

_LIST_PAGE = (
    parameter(
        "cursor", {"type": "string", "maxLength": 140, "pattern": f"^{LIST_CURSOR}$"}, "`next` of the previous page"
    ),
    parameter("limit", whole_number(1, MOST_LISTED, MOST_LISTED), "Maximum number of jobs"),
    ALL_OWNERS,
)


class JobRoutes:
    def __init__(self, pool: Pool[Service], watching: StatusPolling) -> None:
        self._pool = pool
        self._watching = watching

    def operations(self) -> list[Operation]:
        job = "/v1/jobs/{job}"
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
        ]

    async def _run(self, owner: str, job: str, step: Callable[[Service], Outcome]) -> Outcome:
        """Runs a step in the pool, preferably in the thread that has the job cached."""
        return await self._pool.run(step, f"{owner}.{job}")

    async def _list(self, request: Request, owner: str) -> Response:
        cursor = request.query_params.get("cursor")
        limit = number(request.query_params.get("limit", str(MOST_LISTED)), "limit", MOST_LISTED, least=1)
        all_owners = flag(request, "all_owners")
        page = await self._pool.run(lambda on: on.jobs.list_page(owner, cursor, limit, all_owners=all_owners), "list")
        jobs = await self._watching.workforce.all_noted(owner, page.jobs)
        return json_response(msgspec.structs.replace(page, jobs=jobs))

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
