"""All routes of the gateway, made from the declared operations: the router, authentication and the OpenAPI document."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cauce.api.http import JSON
from cauce.api.jobs import AliveBody
from cauce.gateway.asgi.application import Endpoint, RequestLimiter, json_response, route_of
from cauce.gateway.asgi.operations import TEXT, Handler, Operation, describe
from cauce.gateway.asgi.problems import HttpError, stopping
from cauce.gateway.dashboard import static_files
from cauce.gateway.dashboard.cluster_live import ClusterLive
from cauce.gateway.dashboard.cluster_routes import ClusterRoutes
from cauce.gateway.dashboard.routes import DashboardRoutes
from cauce.gateway.http.auth import Access
from cauce.gateway.http.dataset_routes import DatasetRoutes
from cauce.gateway.http.downloads import PageBody
from cauce.gateway.http.job_routes import JobRoutes
from cauce.gateway.http.part_routes import PartRoutes
from cauce.gateway.http.result_routes import ResultRoutes
from cauce.gateway.metrics import MEDIA_TYPE, Metrics
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.status_polling import StatusPolling
from cauce.process.telemetry.metric_export import open_metric_export
from cauce.process.telemetry.traces import open_traces

READY_S = 2.0


class Routes:
    def __init__(
        self,
        settings: GatewaySettings,
        pool: Pool[Service],
        access: Access,
        limiter: RequestLimiter,
        watching: StatusPolling,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._access = access
        self._limiter = limiter
        self._watching = watching
        self._metrics = metrics
        self._traces = open_traces("gateway")
        self._metric_export = open_metric_export("gateway", metrics.collect)
        self._parts = PartRoutes(settings, pool, access, metrics, self._traces)
        self.operations = [
            *self._own_operations(),
            *JobRoutes(pool, watching).operations(),
            *self._parts.operations(),
            *DatasetRoutes(pool).operations(),
            *ResultRoutes(pool, watching).operations(),
            *static_files.operations(),
            *DashboardRoutes(pool, watching).operations(),
            *ClusterRoutes(settings.folder, pool, watching.workforce).operations(),
            *ClusterLive(settings.folder, pool, watching).operations(),
        ]
        self._openapi = msgspec.json.encode(describe(self.operations, PageBody))

    def _own_operations(self) -> list[Operation]:
        return [
            Operation(
                "GET",
                "/healthz",
                "health",
                "Liveness check of the gateway",
                self._health,
                AliveBody,
                "The check passed",
                public=True,
                head=True,
            ),
            Operation(
                "GET",
                "/readyz",
                "ready",
                "Readiness check of the gateway and its fabric",
                self._ready,
                AliveBody,
                "The check passed",
                public=True,
                head=True,
            ),
            Operation(
                "GET",
                "/metrics",
                "metrics",
                "Metrics for Prometheus",
                self._show_metrics,
                {"text/plain": TEXT},
                "The metrics",
                public=True,
            ),
            Operation(
                "GET",
                "/openapi.json",
                "describe",
                "This OpenAPI document",
                self._show_openapi,
                {JSON: {"type": "object"}},
                "The document",
                public=True,
            ),
        ]

    def all(self) -> list[Route]:
        return [route_of(path, endpoints) for path, endpoints in self.table().items()]

    def table(self) -> dict[str, dict[str, Endpoint]]:
        """Endpoints by path and method."""
        found: dict[str, dict[str, Endpoint]] = {}
        for each in self.operations:
            endpoint = _public(each.handler) if each.public else self._access.guard(each.handler)
            found.setdefault(each.path, {}).update(dict.fromkeys(each.methods, endpoint))
        return found

    def close(self) -> None:
        """Flushes pending traces and metrics."""
        for each in (self._traces, self._metric_export):
            if each is not None:
                each.close()

    async def _health(self, request: Request, owner: str) -> Response:
        return json_response(AliveBody("alive"))

    async def _ready(self, request: Request, owner: str) -> Response:
        if self._watching.stopped:
            raise stopping()
        # A service without workers is ready: it accepts jobs, and no other gateway would do better.
        try:
            async with asyncio.timeout(READY_S):
                await self._pool.run(lambda on: on.check(self._settings.free_bytes), "ready")
        except TimeoutError:
            raise HttpError(503, "unavailable", f"the fabric did not answer within {READY_S:g} s") from None
        missing = await self._watching.workforce.missing("")
        return json_response(AliveBody("ready", "" if missing is None else missing.text))

    async def _show_metrics(self, request: Request, owner: str) -> Response:
        self._metrics.open.set(self._limiter.open)
        self._metrics.body_bytes.set(self._parts.body_budget.held)
        self._metrics.waiting.set(self._pool.waiting)
        text = await self._pool.run(lambda _: self._metrics.text(), "metrics")
        return Response(text, headers={"content-type": MEDIA_TYPE})

    async def _show_openapi(self, request: Request, owner: str) -> Response:
        return Response(self._openapi, media_type=JSON)


def _public(handler: Handler) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await handler(request, "")

    return endpoint
