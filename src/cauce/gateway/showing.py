"""What the dashboard asks beyond what every client does: datasets, plans at work, streams of events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cauce.gateway.catalogue import DatasetsBody
from cauce.gateway.describing import JOB, Json, json_of, operation
from cauce.gateway.graph import GraphBody
from cauce.gateway.negotiate import choose
from cauce.gateway.pool import Pool
from cauce.gateway.problems import bad_request
from cauce.gateway.service import Service
from cauce.gateway.streams import all_events, job_events
from cauce.gateway.watching import Watching
from cauce.wire.http import EVENT_STREAM, JSON

Handler = Callable[[Request, str], Awaitable[Response]]
STREAM_HEADERS = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
SHAPES = (DatasetsBody, GraphBody)


class Showing:
    def __init__(self, pool: Pool[Service], watching: Watching) -> None:
        self._pool = pool
        self._watching = watching

    def table(self) -> dict[str, dict[str, Handler]]:
        return {
            "/v1/datasets": {"GET": self._datasets},
            "/v1/events": {"GET": self._all_events},
            "/v1/jobs/{job}/events": {"GET": self._events},
            "/v1/jobs/{job}/graph": {"GET": self._graph},
        }

    async def _datasets(self, request: Request, owner: str) -> Response:
        found = await self._pool.run(lambda on: on.jobs.datasets(), "datasets")
        return Response(msgspec.json.encode(found), media_type=JSON)

    async def _graph(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        found = await self._watching.graph(owner, job)
        return Response(msgspec.json.encode(found), media_type=JSON)

    async def _events(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        job = request.path_params["job"]
        graph = _flag(request, "graph")
        read = await self._pool.run(lambda on: on.jobs.status(owner, job), f"{owner}.{job}")
        first = await self._watching.workforce.noted(owner, read)
        return StreamingResponse(job_events(self._watching, owner, job, first, graph=graph), headers=STREAM_HEADERS)

    async def _all_events(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        listed = await self._pool.run(lambda on: on.jobs.list(owner), "list")
        first = await self._watching.workforce.all_noted(owner, listed)
        return StreamingResponse(all_events(self._watching, owner, first), headers=STREAM_HEADERS)


def _flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise bad_request(f"{name} is to be true or false, not {text[:40]!r}")
    return text == "true"


def _stream(said: str) -> dict[str, Json]:
    return {"200": {"description": said, "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}}


def described() -> dict[str, Json]:
    graph = {
        "name": "graph",
        "in": "query",
        "schema": {"type": "boolean", "default": False},
        "description": "Also events named `graph`, about once a second, each with a GraphBody as its data",
    }
    said = "Events named `status`, each with a JobStatus as its data"
    listed = "An event named `all` with a JobsBody, then events named `status`, and `gone` with the id of a job"
    return {
        "/v1/datasets": {
            "get": operation("datasets", "What can be asked", {"200": json_of(DatasetsBody, "The datasets")})
        },
        "/v1/events": {
            "get": operation(
                "allEvents", "How the caller's jobs stand, whenever that changes", _stream(listed), problems=(406,)
            )
        },
        "/v1/jobs/{job}/events": {
            "get": operation(
                "events",
                "How a job stands, whenever that changes, until it ends",
                _stream(said),
                parameters=[JOB, graph],
                problems=(406,),
            )
        },
        "/v1/jobs/{job}/graph": {
            "get": operation(
                "graph",
                "A job's plan at work",
                {"200": json_of(GraphBody, "Stages, edges, history")},
                parameters=[JOB],
                problems=(409,),
            )
        },
    }
