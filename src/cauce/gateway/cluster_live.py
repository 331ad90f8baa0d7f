"""The cluster as it changes, for the dashboard: its processes, events as they are noted, and the last lines that a
process has said. What tells of a job is told to its owner alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cauce.doctor.asking import Asker
from cauce.doctor.bodies import ClusterBody, cluster_body, events_after, last_events
from cauce.doctor.home import Home
from cauce.doctor.names import is_name
from cauce.errors import CauceError
from cauce.gateway.describing import Json, in_path, json_of, operation
from cauce.gateway.discretion import events_for, rows_for
from cauce.gateway.names import LOCAL
from cauce.gateway.negotiate import choose
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError
from cauce.gateway.service import Service
from cauce.gateway.streams import KEEP_ALIVE_S, STILL_HERE, WAITING, event
from cauce.gateway.watching import LOOK_S, Watching
from cauce.wire.http import EVENT_STREAM, JSON

Handler = Callable[[Request, str], Awaitable[Response]]
PROCESSES_S = 1.0
ASK_S = 1.5
FIRST_EVENTS = 1000
LOG_BYTES = 64 << 10


class LogBody(msgspec.Struct, frozen=True):
    """The end of what a process has said."""

    name: str
    text: str


SHAPES = (LogBody,)


class ClusterLive:
    def __init__(self, folder: Path, pool: Pool[Service], watching: Watching) -> None:
        self._home = Home(folder)
        self._pool = pool
        self._watching = watching
        self._look: asyncio.Task[ClusterBody | None] | None = None

    def table(self) -> dict[str, dict[str, Handler]]:
        return {
            "/v1/cluster/live": {"GET": self._live},
            "/v1/cluster/processes/{name}/log": {"GET": self._log},
        }

    async def _live(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        if self._home.find_cluster() is None:
            raise HttpError(404, "not-found", "this gateway runs by itself: there is no cluster to show")
        headers = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._stream(owner), headers=headers)

    async def _stream(self, owner: str) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        cursor: str | None = None
        asked_at, spoke_at = -PROCESSES_S, now()
        while not self._watching.stopped:
            told = b""
            try:
                news, cursor = await self._events(owner, cursor)
            except CauceError:
                news = b""
                told = WAITING
            if news or now() - asked_at >= PROCESSES_S:
                asked_at = now()
                told += await self._processes(owner) or WAITING
            told += news
            if not told and now() - spoke_at >= KEEP_ALIVE_S:
                told = STILL_HERE
            if told:
                spoke_at = now()
                yield told
            await self._watching.pause(LOOK_S)

    async def _events(self, owner: str, cursor: str | None) -> tuple[bytes, str]:
        events = await self._pool.run(lambda on: on.events.read(), "events")
        page = last_events(events, FIRST_EVENTS) if cursor is None else events_after(events, cursor, FIRST_EVENTS)
        if not page.events and cursor is not None:
            return b"", cursor
        return event("events", msgspec.json.encode({"events": events_for(owner, page.events)})), page.next

    async def _processes(self, owner: str) -> bytes | None:
        """One look for all who watch at the same time. None if no doctor answers."""
        if self._look is None or self._look.done():
            # Not in the pool: a doctor may be waited for, and the pool's threads are for the fabric.
            self._look = asyncio.create_task(asyncio.to_thread(self._ask))
        body = await asyncio.shield(self._look)
        if body is None:
            return None
        rows = rows_for(owner, body.processes)
        missing = self._watching.workforce.missing_in(owner, rows, body.doctor) if body.running else None
        shown = msgspec.structs.replace(body, processes=rows, no_worker=missing)
        return event("processes", msgspec.json.encode(shown))

    def _ask(self) -> ClusterBody | None:
        cluster = self._home.find_cluster()
        if cluster is None or not cluster.doctors:
            return None
        with Asker(cluster) as asker:
            view = asker.view(ASK_S)
        return None if view is None else cluster_body(view)

    async def _log(self, request: Request, owner: str) -> Response:
        """What processes say names the jobs of all owners: it is shown to who sits at the machine."""
        name = request.path_params["name"]
        if owner != LOCAL or not is_name(name):
            raise HttpError(404, "not-found", "logs are shown on the service's own machine only, without a token")
        text = await asyncio.to_thread(_end_of, self._home.log(name))
        return Response(msgspec.json.encode(LogBody(name, text)), media_type=JSON)


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - LOG_BYTES, 0))
            text = file.read(LOG_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return ""
    return text if size <= LOG_BYTES else text.partition("\n")[2]


def described() -> dict[str, Json]:
    said = "Events named `processes`, as /v1/cluster, and `events`, as /v1/cluster/events"
    process = in_path("name", {"type": "string", "minLength": 1, "maxLength": 80}, "A process, such as worker-1")
    return {
        "/v1/cluster/live": {
            "get": operation(
                "clusterLive",
                "The processes of the service and what happens to them, as it changes",
                {"200": {"description": said, "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}},
                problems=(406,),
            )
        },
        "/v1/cluster/processes/{name}/log": {
            "get": operation(
                "clusterLog",
                "The last lines that a process of this machine has said",
                {"200": json_of(LogBody, "The text")},
                parameters=[process],
            )
        },
    }
