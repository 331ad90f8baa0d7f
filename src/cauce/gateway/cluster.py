"""The cluster over HTTP: its processes as the doctors see them, and the timeline that they keep. The only change that
can be made from here is to start the workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.doctor.asking import Asker
from cauce.doctor.bodies import ClusterBody, EventsBody, cluster_body, events_after, last_events
from cauce.doctor.control import start_workers
from cauce.doctor.home import Cluster, Home
from cauce.errors import UsageError
from cauce.gateway.describing import Json, body_of, json_of, operation
from cauce.gateway.discretion import events_for, rows_for
from cauce.gateway.headers import number
from cauce.gateway.names import LOCAL
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError, bad_request
from cauce.gateway.receiving import read_json
from cauce.gateway.service import Service
from cauce.gateway.workforce import Workforce
from cauce.wire.http import JSON, RETRY_AFTER

Handler = Callable[[Request, str], Awaitable[Response]]


class WorkersBody(msgspec.Struct, frozen=True):
    """What the workers are to do."""

    running: Literal[True]


class StartedBody(msgspec.Struct, frozen=True):
    """The workers that are to run from now on."""

    workers: list[str]


SHAPES = (ClusterBody, EventsBody, WorkersBody, StartedBody)
ASK_S = 1.5
PAGE, MOST = 100, 1000


class ClusterRoutes:
    def __init__(self, folder: Path, pool: Pool[Service], workforce: Workforce) -> None:
        self._home = Home(folder)
        self._pool = pool
        self._workforce = workforce

    def table(self) -> dict[str, dict[str, Handler]]:
        return {
            "/v1/cluster": {"GET": self._cluster},
            "/v1/cluster/events": {"GET": self._events},
            "/v1/cluster/workers": {"PUT": self._start_workers},
        }

    async def _cluster(self, request: Request, owner: str) -> Response:
        # Not in the pool: a doctor may be waited for, and the pool's threads are for the fabric.
        body = await asyncio.to_thread(self._ask)
        rows = rows_for(owner, body.processes)
        missing = self._workforce.missing_in(owner, rows, body.doctor) if body.running else None
        shown = msgspec.structs.replace(body, processes=rows, no_worker=missing)
        return Response(msgspec.json.encode(shown), media_type=JSON)

    async def _start_workers(self, request: Request, owner: str) -> Response:
        """For people at the machine itself, as `cauce start` and `cauce scale` are."""
        await read_json(request, WorkersBody)
        if owner != LOCAL or self._found() is None:
            raise HttpError(
                404,
                "not-found",
                "workers can only be started on the service's own machine, without a token",
            )
        names = await asyncio.to_thread(start_workers, self._home)
        return Response(msgspec.json.encode(StartedBody(names)), media_type=JSON)

    def _ask(self) -> ClusterBody:
        cluster = self._found()
        view = None
        if cluster is not None and cluster.doctors:
            with Asker(cluster) as asker:
                view = asker.view(ASK_S)
        if view is None:
            raise HttpError(
                503,
                "unavailable",
                "no doctor answers: this gateway runs by itself, or the doctors are being started again",
                {RETRY_AFTER: "1"},
            )
        return cluster_body(view)

    def _found(self) -> Cluster | None:
        try:
            return self._home.find_cluster()
        except UsageError:
            return None

    async def _events(self, request: Request, owner: str) -> Response:
        asked = request.query_params
        cursor = asked.get("cursor", "")
        last = number(asked["last"], "last", MOST) if "last" in asked else None
        limit = number(asked.get("limit", str(PAGE)), "limit", MOST)
        if limit < 1 or last == 0:
            raise bad_request("limit and last are to be 1 at least")
        events = await self._pool.run(lambda on: on.events.read(), "events")
        try:
            page = last_events(events, last) if last is not None else events_after(events, cursor, limit)
        except UsageError as problem:
            raise bad_request(str(problem)) from None
        shown = msgspec.structs.replace(page, events=events_for(owner, page.events))
        return Response(msgspec.json.encode(shown), media_type=JSON)


def _whole(name: str, said: str, default: int | None = None) -> Json:
    schema: Json = {"type": "integer", "minimum": 1, "maximum": MOST}
    return {
        "name": name,
        "in": "query",
        "schema": schema | ({"default": default} if default else {}),
        "description": said,
    }


def described() -> dict[str, Json]:
    cursor = {
        "name": "cursor",
        "in": "query",
        "schema": {"type": "string", "maxLength": 200, "pattern": r"^([0-9]{1,18}\.[0-9]{1,18}\.[a-z0-9@-]*)?$"},
        "description": "`next` of the answer before",
    }
    return {
        "/v1/cluster": {
            "get": operation(
                "cluster",
                "The processes of the service, as its doctors see them",
                {"200": json_of(ClusterBody, "Who leads, and how each process is")},
            )
        },
        "/v1/cluster/workers": {
            "put": operation(
                "startWorkers",
                "Start the workers that were stopped or wait after crashes; add some if there are none",
                {"200": json_of(StartedBody, "They are being started")},
                body=body_of(WorkersBody),
                problems=(413, 415),
            )
        },
        "/v1/cluster/events": {
            "get": operation(
                "clusterEvents",
                "What happened to the processes of the service",
                {"200": json_of(EventsBody, "In their order")},
                parameters=[
                    cursor,
                    _whole("limit", "How many at most", PAGE),
                    _whole("last", "So many of the latest; cursor and limit do not count then"),
                ],
            )
        },
    }
