"""The gateway as an ASGI application: every request from its first byte to the last of its answer, and what goes on
beside the requests. It holds nothing that another gateway on the same fabric would need."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from cauce.errors import CauceError
from cauce.gateway.access import Access
from cauce.gateway.exchange import Exchange
from cauce.gateway.gate import Gate
from cauce.gateway.jobs import register
from cauce.gateway.logs import Throttle
from cauce.gateway.metrics import Metrics
from cauce.gateway.model import JobStatus
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError, internal, stopping, told
from cauce.gateway.routes import Routes
from cauce.gateway.service import Service, service_maker
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.tokens import Tokens
from cauce.gateway.watching import Watching
from cauce.gateway.workforce import Workforce

SWEEP_S = 1.0
REFUSALS_A_SECOND = 20


class Gateway:
    def __init__(self, settings: GatewaySettings, log: FilteringBoundLogger) -> None:
        self._log = log
        self._metrics = Metrics()
        datasets = register(settings.datasets, lenient=True)
        make = service_maker(
            None if settings.fabric else settings.folder,
            settings.address,
            settings.durability,
            settings.limits,
            datasets,
            self._tell,
        )
        self._pool: Pool[Service] = Pool(settings.threads, make)
        self._gate = Gate(settings.requests, settings.requests_per_owner)
        self._refusals = Throttle(REFUSALS_A_SECOND)
        self._stopping = asyncio.Event()
        workforce = Workforce(settings, self._silence)
        self._watching = Watching(self._pool, self._stopping, workforce)
        access = Access(Tokens(settings.tokens), needs_token=settings.needs_token)
        self.routes = Routes(settings, self._pool, access, self._gate, self._watching, self._metrics)

    async def _silence(self, owner: str, job: str) -> float:
        return await self._pool.run(lambda on: on.jobs.silence_s(owner, job), f"{owner}.{job}")

    def stop(self) -> None:
        """Every wait ends; what is at work is finished."""
        self._stopping.set()

    def at_work(self) -> tuple[int, int, str]:
        """Steps done, steps that wait, and what goes on, for people."""
        number = self._gate.open
        return self._pool.done, self._pool.waiting, f"{number} open request{'s' * (number != 1)}" if number else ""

    def app(self) -> ASGIApp:
        inner = Router(self.routes.all(), redirect_slashes=False, default=_nothing_here, lifespan=self._lifespan)

        async def edge(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await self._answer(inner, scope, receive, send)
            else:
                await inner(scope, receive, send)

        return edge

    async def _answer(self, inner: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One request from its first byte to the last of its answer, whatever happens in between."""
        exchange = Exchange(scope, receive, send)
        scope["cauce.exchange"] = exchange
        try:
            with self._gate.enter():
                await inner(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            pass
        except asyncio.CancelledError:
            # The time for requests in flight is over.
            if not exchange.started:
                exchange.hurry()
                await self._refuse(stopping())(scope, exchange.receive, exchange.send)
        except CauceError as error:
            if exchange.started:
                # Too late for another answer: that the body breaks off is all that can still be said.
                self._log.warning("answer broken off", code=error.code, cause=str(error), path=scope["path"][:200])
                raise
            await self._refuse(error)(scope, exchange.receive, exchange.send)
        except Exception:
            reference = secrets.token_hex(6)
            self._log.exception("internal error", reference=reference, method=scope["method"], path=scope["path"][:200])
            if exchange.started:
                raise
            await internal(reference)(scope, exchange.receive, exchange.send)
        finally:
            if exchange.owner:
                self._gate.leave_as(exchange.owner)
            self._count(scope, exchange)

    def _refuse(self, error: CauceError) -> Response:
        response = told(error)
        if response is None:
            reference = secrets.token_hex(6)
            self._log.error("internal error", reference=reference, exc_info=error)
            return internal(reference)
        return response

    def _count(self, scope: Scope, exchange: Exchange) -> None:
        status = exchange.status
        seconds = time.monotonic() - exchange.started_at
        self._metrics.requests.labels(scope["method"], exchange.route, str(status)).inc()
        self._metrics.seconds.labels(exchange.route).observe(seconds)
        self._metrics.received.inc(exchange.received_bytes)
        if status >= 400 and status != 425:
            unsaid = self._refusals.admit()
            if unsaid is not None:
                self._log.info(
                    "request refused",
                    status=status,
                    method=scope["method"],
                    path=scope["path"][:200],
                    owner=exchange.owner,
                    **({"not_shown_before": unsaid} if unsaid else {}),
                )

    def _tell(self, event: str, status: JobStatus) -> None:
        """Called in the threads of the pool."""
        self._metrics.events.labels(event).inc()
        more = {"code": status.code, "cause": status.cause} if status.cause else {}
        self._log.info(f"job {event}", job=status.job, owner=status.owner, dataset=status.dataset, **more)

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        self._pool.start()
        sweeping = asyncio.create_task(self._sweep())
        yield
        self._stopping.set()
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await asyncio.to_thread(self._pool.stop, 1.0)
        await asyncio.to_thread(self.routes.close)

    async def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._pool.run(lambda on: on.jobs.sweep(), "sweep")
                self._metrics.show(await self._pool.run(lambda on: on.jobs.figures(), "sweep"))
            except CauceError as error:
                self._log.warning("sweep failed", code=error.code, cause=str(error))
            except Exception:  # noqa: BLE001  (a gateway that no longer sweeps would fill the disk in silence)
                self._log.exception("sweep failed")
            await self._watching.pause(SWEEP_S)


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise HttpError(404, "not-found", "there is nothing under this path; see /openapi.json for what there is")
