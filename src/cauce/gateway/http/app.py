"""A gateway: its pool, limits, routes and background tasks, made from the settings. It never keeps state that another
gateway on the same fabric would need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from cauce.api.jobs import JobStatus
from cauce.datasets.registry import Registry
from cauce.gateway.asgi.application import Application, RequestLimiter
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.http.auth import Access
from cauce.gateway.http.background import Background
from cauce.gateway.http.routes import Routes
from cauce.gateway.metrics import Metrics
from cauce.gateway.pool import Pool
from cauce.gateway.public_text import hide_folders
from cauce.gateway.service import Service, service_maker
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.status_polling import StatusPolling
from cauce.gateway.tokens import Tokens
from cauce.gateway.worker_availability import Workforce


class Gateway:
    def __init__(self, settings: GatewaySettings, log: FilteringBoundLogger) -> None:
        hide_folders(settings.paths)
        self._log = log
        self._metrics = Metrics()
        make = service_maker(
            settings.root,
            settings.address,
            settings.durability,
            settings.limits,
            Registry(settings.datasets),
            self._record_event,
            lambda name: self._background.end_found(name),
        )
        self._pool: Pool[Service] = Pool(settings.threads, make)
        self._limiter = RequestLimiter(settings)
        self._stopping = asyncio.Event()
        workforce = Workforce(settings, self._idle_s)
        self._watching = StatusPolling(self._pool, self._stopping, workforce)
        self._background = Background(self._pool, self._metrics, log, self._watching.pause)
        access = Access(Tokens(settings.tokens), needs_token=settings.needs_token)
        self.routes = Routes(settings, self._pool, access, self._limiter, self._watching, self._metrics)

    async def _idle_s(self, owner: str, job: str) -> float:
        return await self._pool.run(lambda on: on.jobs.silence_s(owner, job), f"{owner}.{job}")

    def stop(self) -> None:
        """Ends all waits. Requests in progress are completed."""
        self._stopping.set()

    def at_work(self) -> tuple[int, int, str]:
        """Steps completed, steps queued, and a summary of open requests for people."""
        number = self._limiter.open
        return self._pool.done, self._pool.waiting, f"{number} open request{'s' * (number != 1)}" if number else ""

    def app(self) -> ASGIApp:
        inner = Router(self.routes.all(), redirect_slashes=False, default=_not_found, lifespan=self._lifespan)
        return Application(inner, self._limiter, self._metrics, self._log)

    def _record_event(self, event: str, status: JobStatus) -> None:
        """Counts and logs an event of a job. Called in the threads of the pool."""
        self._metrics.events.labels(event).inc()
        cause = {"code": status.code, "cause": status.cause} if status.cause else {}
        self._log.info(f"job {event}", job=status.job, owner=status.owner, dataset=status.dataset, **cause)

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        self._pool.start()
        background = asyncio.create_task(self._background.run())
        yield
        self._stopping.set()
        background.cancel()
        with suppress(asyncio.CancelledError):
            await background
        await asyncio.to_thread(self._pool.stop, 1.0)
        await asyncio.to_thread(self.routes.close)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise HttpError(404, "not-found", "this path does not exist; see /openapi.json for the available paths")
