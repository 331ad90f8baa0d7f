"""The cluster over HTTP: its processes as the doctors see them, and the timeline that they keep. Nothing is changed
from here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.doctor.asking import Asker
from cauce.doctor.bodies import ClusterBody, EventsBody, cluster_body, events_after, last_events
from cauce.doctor.home import Cluster, Home
from cauce.errors import UsageError
from cauce.gateway.describing import Json, json_of, operation
from cauce.gateway.discretion import events_for, rows_for
from cauce.gateway.headers import number
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError, bad_request
from cauce.gateway.service import Service
from cauce.wire.http import JSON, RETRY_AFTER

Handler = Callable[[Request, str], Awaitable[Response]]
SHAPES = (ClusterBody, EventsBody)
ASK_S = 1.5
PAGE, MOST = 100, 1000


class ClusterRoutes:
    def __init__(self, folder: Path, pool: Pool[Service]) -> None:
        self._home = Home(folder)
        self._pool = pool

    def table(self) -> dict[str, dict[str, Handler]]:
        return {"/v1/cluster": {"GET": self._cluster}, "/v1/cluster/events": {"GET": self._events}}

    async def _cluster(self, request: Request, owner: str) -> Response:
        # Not in the pool: a doctor may be waited for, and the pool's threads are for the fabric.
        body = await asyncio.to_thread(self._ask)
        shown = msgspec.structs.replace(body, processes=rows_for(owner, body.processes))
        return Response(msgspec.json.encode(shown), media_type=JSON)

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
