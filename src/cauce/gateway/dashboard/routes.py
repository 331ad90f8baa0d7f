"""Routes for the dashboard beyond the job API: plan graphs, SQL statements and event streams."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from cauce.api.http import EVENT_STREAM
from cauce.api.sql import SqlRequest
from cauce.gateway.asgi.application import event_stream, flag, json_response, number
from cauce.gateway.asgi.event_streams import all_events, job_events
from cauce.gateway.asgi.negotiate import choose
from cauce.gateway.asgi.operations import ALL_OWNERS, STREAM, Operation, parameter
from cauce.gateway.jobs.progress.plan_graph import GraphBody
from cauce.gateway.jobs.progress.reject_reasons import ReasonsBody
from cauce.gateway.jobs.progress.stage_detail import StageDetailBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.status_polling import StatusPolling

MOST_STAGES = 1_000_000
_GRAPH = parameter(
    "graph",
    {"type": "boolean", "default": False},
    "Also send events named `graph`, about once a second, each with a GraphBody as its data",
)


class DashboardRoutes:
    def __init__(self, pool: Pool[Service], watching: StatusPolling) -> None:
        self._pool = pool
        self._watching = watching

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "GET",
                "/v1/events",
                "allEvents",
                "Status of the caller's jobs, sent on every change",
                self._all_events,
                STREAM,
                "An event named `all` with a JobsBody, then events named `status`, and `gone` with the id and "
                "the owner of a job",
                parameters=(ALL_OWNERS,),
                problems=(406,),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/events",
                "events",
                "Status of a job, sent on every change until it ends",
                self._events,
                STREAM,
                "Events named `status`, each with a JobStatus as its data",
                parameters=(_GRAPH,),
                problems=(406,),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/graph",
                "graph",
                "The plan of a job with its progress",
                self._graph,
                GraphBody,
                "Stages, edges, history",
                problems=(409,),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/stages/{stage}",
                "stage",
                "A stage of the plan of a job, task by task",
                self._stage,
                StageDetailBody,
                "Its tasks with their counters, and the slow one",
                problems=(409, 422),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/rejects/reasons",
                "rejectReasons",
                "Records that could not be read, grouped by reason",
                self._reasons,
                ReasonsBody,
                "The reasons, the most frequent first",
                problems=(409,),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/sql",
                "jobSql",
                "The SQL statements of a job",
                self._sql,
                SqlRequest,
                "As requested, with the values of all parameters",
                problems=(409,),
            ),
        ]

    async def _graph(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        found = await self._watching.graph(owner, job)
        return json_response(found)

    async def _stage(self, request: Request, owner: str) -> Response:
        job, stage = request.path_params["job"], number(request.path_params["stage"], "stage", MOST_STAGES)
        found = await self._pool.run(lambda on: on.jobs.details.stage(owner, job, stage), f"{owner}.{job}")
        return json_response(found)

    async def _reasons(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        found = await self._pool.run(lambda on: on.jobs.details.reject_reasons(owner, job), f"{owner}.{job}")
        return json_response(found)

    async def _sql(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        return json_response(await self._pool.run(lambda on: on.jobs.statements(owner, job), f"{owner}.{job}"))

    async def _events(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        job = request.path_params["job"]
        graph = flag(request, "graph")
        read = await self._pool.run(lambda on: on.jobs.status(owner, job), f"{owner}.{job}")
        first = await self._watching.workforce.noted(owner, read)
        return event_stream(job_events(self._watching, owner, job, first, graph=graph))

    async def _all_events(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        all_owners = flag(request, "all_owners")
        listed = await self._pool.run(lambda on: on.jobs.list(owner, all_owners=all_owners), "list")
        first = await self._watching.workforce.all_noted(owner, listed)
        return event_stream(all_events(self._watching, owner, first, all_owners=all_owners))
