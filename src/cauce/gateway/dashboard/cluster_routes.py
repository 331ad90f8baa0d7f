"""The cluster over HTTP: its processes as the doctors see them, and its events. Local users may start and stop workers
and gateways."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.api.cluster import ProcessBody, ProcessChangedBody, StartedBody, WorkersBody
from cauce.api.http import RETRY_AFTER
from cauce.api.names import LOCAL
from cauce.doctor.control import hold_process, start_workers
from cauce.doctor.json_bodies import ClusterBody, EventsBody, cluster_body, events_after, last_events
from cauce.doctor.launch.service_dir import Cluster, ServiceDir
from cauce.doctor.model.names import is_name, role_of
from cauce.doctor.query import QueryClient
from cauce.errors import UsageError
from cauce.gateway.asgi.application import json_response, number, read_json
from cauce.gateway.asgi.operations import Operation, parameter, whole_number
from cauce.gateway.asgi.problems import HttpError, bad_request
from cauce.gateway.pool import Pool
from cauce.gateway.redaction import events_for, rows_for
from cauce.gateway.service import Service
from cauce.gateway.worker_availability import Workforce

ASK_S = 1.5
PAGE, MOST = 100, 1000
_CURSOR = {"type": "string", "maxLength": 200, "pattern": r"^([0-9]{1,18}\.[0-9]{1,18}\.[a-z0-9@-]*)?$"}
_PAGE = (
    parameter("cursor", _CURSOR, "`next` of the previous page"),
    parameter("limit", whole_number(1, MOST, PAGE), "Maximum number of events"),
    parameter("last", whole_number(1, MOST), "Return this many of the latest events; cursor and limit are ignored"),
)


class ClusterRoutes:
    def __init__(self, folder: Path, pool: Pool[Service], workforce: Workforce) -> None:
        self._home = ServiceDir(folder)
        self._pool = pool
        self._workforce = workforce

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "GET",
                "/v1/cluster",
                "cluster",
                "The processes of the service, as its doctors see them",
                self._cluster,
                ClusterBody,
                "The leader, and the state of each process",
            ),
            Operation(
                "PUT",
                "/v1/cluster/workers",
                "startWorkers",
                "Start workers that were stopped or are in restart backoff; add some if there are none",
                self._start_workers,
                StartedBody,
                "The workers are being started",
                body=WorkersBody,
                problems=(413, 415),
            ),
            Operation(
                "PUT",
                "/v1/cluster/processes/{process}",
                "setProcess",
                "Start or stop a worker or a gateway",
                self._set_process,
                ProcessChangedBody,
                "The process is being started or stopped",
                body=ProcessBody,
                problems=(409, 413, 415),
            ),
            Operation(
                "GET",
                "/v1/cluster/events",
                "clusterEvents",
                "Events of the processes of the service",
                self._events,
                EventsBody,
                "The events, oldest first",
                parameters=_PAGE,
            ),
        ]

    async def _cluster(self, request: Request, owner: str) -> Response:
        # Not in the pool: a query may block until its timeout, and the pool's threads are for the fabric.
        body = await asyncio.to_thread(self._ask)
        rows = rows_for(owner, body.processes)
        missing = self._workforce.missing_in(owner, rows, body.doctor) if body.running else None
        shown = msgspec.structs.replace(body, processes=rows, no_worker=missing, operator=owner == LOCAL)
        return json_response(shown)

    async def _start_workers(self, request: Request, owner: str) -> Response:
        """For local users only, like `cauce start` and `cauce scale`."""
        await read_json(request, WorkersBody)
        if owner != LOCAL or self._found() is None:
            raise HttpError(
                404,
                "not-found",
                "workers can only be started on the service's own machine, without a token",
            )
        names = await asyncio.to_thread(start_workers, self._home)
        return json_response(StartedBody(names))

    async def _set_process(self, request: Request, owner: str) -> Response:
        """For local users only, like `cauce start` and `cauce stop`. Doctors are left to these commands: without them
        nothing can be started from here."""
        wanted = await read_json(request, ProcessBody)
        name = request.path_params["process"]
        if owner != LOCAL or not is_name(name) or role_of(name) == "doctor" or self._found() is None:
            raise HttpError(
                404,
                "not-found",
                "only workers and gateways can be started and stopped, on the service's own machine without a token",
            )
        if not wanted.running and role_of(name) == "gateway":
            await asyncio.to_thread(self._require_another_gateway, name)
        try:
            await asyncio.to_thread(hold_process, self._home, name, running=wanted.running)
        except UsageError as problem:
            raise HttpError(404, "not-found", str(problem)) from None
        return json_response(ProcessChangedBody(name, wanted.running))

    def _require_another_gateway(self, name: str) -> None:
        rows = self._ask().processes
        if not any(row.role == "gateway" and row.name != name and row.ready and row.pid for row in rows):
            raise HttpError(
                409,
                "last-gateway",
                f"{name} is the only gateway that runs: without it this service cannot be reached; use cauce stop",
            )

    def _ask(self) -> ClusterBody:
        cluster = self._found()
        view = None
        if cluster is not None and cluster.doctors:
            with QueryClient(cluster) as client:
                view = client.status(ASK_S)
        if view is None:
            raise HttpError(
                503,
                "unavailable",
                "no doctor answers: this gateway runs by itself, or the doctors are restarting",
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
        last = number(asked["last"], "last", MOST, least=1) if "last" in asked else None
        limit = number(asked.get("limit", str(PAGE)), "limit", MOST, least=1)
        # Linearizable: an event that one request has shown is shown by every later one, on any gateway.
        events = await self._pool.run(lambda on: on.events.read(consistent=True), "events")
        try:
            page = last_events(events, last) if last is not None else events_after(events, cursor, limit)
        except UsageError as problem:
            raise bad_request(str(problem)) from None
        shown = msgspec.structs.replace(page, events=events_for(owner, page.events))
        return json_response(shown)
