"""Live state of the cluster for the dashboard: processes, events and the end of process logs. Data about a job is sent
only to its owner."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.api.cluster import LogBody
from cauce.api.http import EVENT_STREAM
from cauce.api.names import LOCAL
from cauce.doctor.json_bodies import ClusterBody, cluster_body, events_after, last_events
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.names import is_name
from cauce.doctor.query import QueryClient
from cauce.errors import CauceError
from cauce.gateway.asgi.application import event_stream, json_response
from cauce.gateway.asgi.event_streams import KEEP_ALIVE_S, STILL_HERE, WAITING, event
from cauce.gateway.asgi.negotiate import choose
from cauce.gateway.asgi.operations import STREAM, Operation, parameter
from cauce.gateway.asgi.problems import HttpError, bad_request
from cauce.gateway.pool import Pool
from cauce.gateway.redaction import events_for, rows_for
from cauce.gateway.service import Service
from cauce.gateway.status_polling import LOOK_S, StatusPolling

PROCESSES_S = 1.0
ASK_S = 1.5
FIRST_EVENTS = 1000
LOG_BYTES = 64 << 10
SEARCHED_BYTES = 32 << 20
MOST_SEARCH = 200
_SEARCH = parameter(
    "search",
    {"type": "string", "maxLength": MOST_SEARCH},
    "Return the last lines that contain this text, in any case",
)


class ClusterLive:
    def __init__(self, folder: Path, pool: Pool[Service], watching: StatusPolling) -> None:
        self._home = ServiceDir(folder)
        self._pool = pool
        self._watching = watching
        self._look: asyncio.Task[ClusterBody | None] | None = None

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "GET",
                "/v1/cluster/live",
                "clusterLive",
                "Live stream of the processes of the service and their events",
                self._live,
                STREAM,
                "Events named `processes`, as /v1/cluster, and `events`, as /v1/cluster/events",
                problems=(406,),
            ),
            Operation(
                "GET",
                "/v1/cluster/processes/{process}/log",
                "clusterLog",
                "The last lines of the log of a process on this machine",
                self._log,
                LogBody,
                "The text",
                parameters=(_SEARCH,),
            ),
        ]

    async def _live(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        if self._home.find_cluster() is None:
            raise HttpError(404, "not-found", "this gateway runs by itself, without a cluster")
        return event_stream(self._stream(owner))

    async def _stream(self, owner: str) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        cursor: str | None = None
        queried_at, sent_at = -PROCESSES_S, now()
        while not self._watching.stopped:
            chunk = b""
            try:
                news, cursor = await self._events(owner, cursor)
            except CauceError:
                news = b""
                chunk = WAITING
            if news or now() - queried_at >= PROCESSES_S:
                queried_at = now()
                chunk += await self._processes(owner) or WAITING
            chunk += news
            if not chunk and now() - sent_at >= KEEP_ALIVE_S:
                chunk = STILL_HERE
            if chunk:
                sent_at = now()
                yield chunk
            await self._watching.pause(LOOK_S)

    async def _events(self, owner: str, cursor: str | None) -> tuple[bytes, str]:
        events = await self._pool.run(lambda on: on.events.read(), "events")
        page = last_events(events, FIRST_EVENTS) if cursor is None else events_after(events, cursor, FIRST_EVENTS)
        if not page.events and cursor is not None:
            return b"", cursor
        return event("events", msgspec.json.encode({"events": events_for(owner, page.events)})), page.next

    async def _processes(self, owner: str) -> bytes | None:
        """Concurrent streams share one query. None if no doctor answers."""
        if self._look is None or self._look.done():
            # Not in the pool: a query may block until its timeout, and the pool's threads are for the fabric.
            self._look = asyncio.create_task(asyncio.to_thread(self._ask))
        body = await asyncio.shield(self._look)
        if body is None:
            return None
        rows = rows_for(owner, body.processes)
        missing = self._watching.workforce.missing_in(owner, rows, body.doctor) if body.running else None
        shown = msgspec.structs.replace(body, processes=rows, no_worker=missing, operator=owner == LOCAL)
        return event("processes", msgspec.json.encode(shown))

    def _ask(self) -> ClusterBody | None:
        cluster = self._home.find_cluster()
        if cluster is None or not cluster.doctors:
            return None
        with QueryClient(cluster) as client:
            view = client.status(ASK_S)
        return None if view is None else cluster_body(view)

    async def _log(self, request: Request, owner: str) -> Response:
        """Logs name the jobs of all owners: they are shown to local users only."""
        name = request.path_params["process"]
        if owner != LOCAL or not is_name(name):
            raise HttpError(404, "not-found", "logs are shown on the service's own machine only, without a token")
        wanted = request.query_params.get("search", "")
        if len(wanted) > MOST_SEARCH:
            raise bad_request(f"search must be at most {MOST_SEARCH} characters")
        if wanted:
            return json_response(await asyncio.to_thread(_search, self._home.log(name), name, wanted))
        text = await asyncio.to_thread(_end_of, self._home.log(name))
        return json_response(LogBody(name, text))


def _end_of(path: Path) -> str:
    return b"".join(_last_lines(path, LOG_BYTES)).decode(errors="replace")


def _search(path: Path, name: str, wanted: str) -> LogBody:
    """The last lines that contain a text, at most LOG_BYTES of them."""
    key = wanted.casefold()
    found: deque[str] = deque()
    size = matches = searched = 0
    for raw in _last_lines(path, SEARCHED_BYTES):
        searched += len(raw)
        line = raw.decode(errors="replace")
        if key not in line.casefold():
            continue
        matches += 1
        found.append(line)
        size += len(line)
        while size > LOG_BYTES and len(found) > 1:
            size -= len(found.popleft())
    return LogBody(name, "".join(found), matches, searched)


def _last_lines(path: Path, most_bytes: int) -> Iterator[bytes]:
    """The complete lines in the last bytes of a file; none if it does not exist."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - most_bytes, 0))
            if size > most_bytes:
                file.readline()
            yield from file
    except FileNotFoundError:
        return
