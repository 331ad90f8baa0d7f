"""The gateway as an ASGI application: routes, and what each does with the job service. Holds nothing that another
gateway on the same fabric would need."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from cauce.errors import CauceError
from cauce.fabric.contract import Durability
from cauce.gateway.access import Access
from cauce.gateway.bodies import Room, announced_bytes, read_body, read_json
from cauce.gateway.downloads import FORMS, SENT_AS, answer_chunks, page_json, text_chunks
from cauce.gateway.exchange import Exchange
from cauce.gateway.gate import Gate
from cauce.gateway.headers import number, part_head
from cauce.gateway.jobs import register
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.logs import Throttle
from cauce.gateway.metrics import MEDIA_TYPE, Metrics
from cauce.gateway.model import ENDED, Held, JobRequest, JobStatus, RejectPage, ResultPage
from cauce.gateway.negotiate import choose
from cauce.gateway.openapi import CompleteBody, describe
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError, bad_request, internal, problem, stopping, told
from cauce.gateway.service import Service, service_maker
from cauce.gateway.tokens import Tokens
from cauce.gateway.watching import Watching
from cauce.wire.http import BYTES, COMPLETE, COUNT, CSV, EVENT_STREAM, JSON, PARTS

SWEEP_S = 1.0
READY_S = 2.0
LONGEST_WAIT_S = 30.0
PAGE_ROWS, MOST_ROWS = 10_000, 100_000
CURSOR_LETTERS = 500
PARTS_BYTES = 8 << 10
"""As much as a header can hold of which parts are there; the rest of them is told as JSON only."""
REFUSALS_A_SECOND = 20

Outcome = TypeVar("Outcome")
Page = ResultPage | RejectPage
Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, str], Awaitable[Response]]


@dataclass(frozen=True)
class GatewaySettings:
    """`room_bytes` of bodies are held at once, half of them of one owner at most."""

    folder: Path
    tokens: Path
    needs_token: bool = True
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    datasets: tuple[Path, ...] = ()
    durability: Durability = "process"
    threads: int = 4
    requests: int = 512
    requests_per_owner: int = 64
    room_bytes: int = 512 << 20
    silence_s: float = 60.0


@dataclass(frozen=True)
class PageAsked:
    cursor: str | None = None
    limit: int = PAGE_ROWS
    wait_s: float = 0.0


class Gateway:
    def __init__(self, settings: GatewaySettings, log: FilteringBoundLogger) -> None:
        self._settings = settings
        self._log = log
        self._metrics = Metrics()
        make = service_maker(
            settings.folder, settings.durability, settings.limits, register(settings.datasets), self._tell
        )
        self._pool: Pool[Service] = Pool(settings.threads, make)
        self._access = Access(Tokens(settings.tokens), needs_token=settings.needs_token)
        self._gate = Gate(settings.requests, settings.requests_per_owner)
        self._room = Room(settings.room_bytes, settings.room_bytes // 2)
        self._refusals = Throttle(REFUSALS_A_SECOND)
        self._stopping = asyncio.Event()
        self._watching = Watching(self._pool, self._stopping)
        self._description = msgspec.json.encode(describe())

    def stop(self) -> None:
        """Every wait ends; what is at work is finished."""
        self._stopping.set()

    def app(self) -> ASGIApp:
        routes = [_route(path, methods) for path, methods in self.routes().items()]
        inner = Router(routes, redirect_slashes=False, default=_nothing_here, lifespan=self._lifespan)

        async def edge(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await self._answer(inner, scope, receive, send)
            else:
                await inner(scope, receive, send)

        return edge

    def routes(self) -> dict[str, dict[str, Endpoint]]:
        """What can be asked for, by path and method. HEAD is for those whose answer without a body is of use."""
        own = self._owned
        job = "/v1/jobs/{job}"
        table = job + "/tables/{table}"
        return {
            "/healthz": {"GET": self._health, "HEAD": self._health},
            "/readyz": {"GET": self._ready, "HEAD": self._ready},
            "/metrics": {"GET": self._measure},
            "/openapi.json": {"GET": self._describe},
            "/v1/jobs": {"GET": own(self._list)},
            job: {"GET": own(self._status), "PUT": own(self._create), "DELETE": own(self._cancel)},
            job + "/why": {"GET": own(self._why)},
            job + "/events": {"GET": own(self._events)},
            job + "/rejects": {"GET": own(self._rejects)},
            job + "/results/{query}": {"GET": own(self._results)},
            table: {"GET": own(self._held), "HEAD": own(self._held)},
            table + "/complete": {"POST": own(self._complete)},
            table + "/parts/{seq}": {"PUT": own(self._put_part)},
        }

    def _owned(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            owner = self._access.owner(request)
            self._gate.enter_as(owner)
            # From here on it counts as the owner's until its answer has been sent.
            exchange_of(request).owner = owner
            return await handler(request, owner)

        return endpoint

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
                await told_as(stopping())(scope, exchange.receive, exchange.send)
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
        seconds = asyncio.get_running_loop().time() - exchange.started_at
        self._metrics.requests.labels(scope["method"], exchange.route, str(status)).inc()
        self._metrics.seconds.labels(exchange.route).observe(max(seconds, 0.0))
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

    async def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._pool.run(lambda on: on.jobs.sweep(), "sweep")
                self._metrics.jobs.set(await self._pool.run(Service.count, "sweep"))
            except CauceError as error:
                self._log.warning("sweep failed", code=error.code, cause=str(error))
            except Exception:  # noqa: BLE001  (a gateway that no longer sweeps would fill the disk in silence)
                self._log.exception("sweep failed")
            await self._watching.pause(SWEEP_S)

    async def _on(self, owner: str, job: str, step: Callable[[Service], Outcome]) -> Outcome:
        return await self._pool.run(step, f"{owner}.{job}")

    # What can be asked for.

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        if self._stopping.is_set():
            raise stopping()
        try:
            async with asyncio.timeout(READY_S):
                await self._pool.run(Service.check, "ready")
        except TimeoutError:
            raise HttpError(503, "unavailable", f"the fabric did not answer within {READY_S:g} s") from None
        return json_response({"status": "ready"})

    async def _measure(self, request: Request) -> Response:
        self._metrics.open.set(self._gate.open)
        self._metrics.body_bytes.set(self._room.held)
        self._metrics.waiting.set(self._pool.waiting)
        text = await self._pool.run(lambda _: self._metrics.text(), "metrics")
        return Response(text, headers={"content-type": MEDIA_TYPE})

    async def _describe(self, request: Request) -> Response:
        return Response(self._description, media_type=JSON)

    async def _list(self, request: Request, owner: str) -> Response:
        return json_response({"jobs": await self._pool.run(lambda on: on.jobs.list(owner), "list")})

    async def _status(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        return json_response(await self._on(owner, job, lambda on: on.jobs.status(owner, job)))

    async def _why(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        return json_response({"why": await self._on(owner, job, lambda on: on.jobs.why(owner, job))})

    async def _create(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        asked = await read_json(request, JobRequest)
        status, created = await self._on(owner, job, lambda on: on.jobs.create(owner, job, asked))
        return json_response(status, 201 if created else 200)

    async def _cancel(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        return json_response(await self._on(owner, job, lambda on: on.jobs.cancel(owner, job)))

    async def _put_part(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        seq = number(request.path_params["seq"], "the number of a part")
        head = part_head(request.headers)
        limit = self._settings.limits.part_bytes
        announced = announced_bytes(request)
        async with self._room.of(owner, min(limit, limit if announced is None else announced)):
            data = await read_body(request, limit, "part-too-large", self._settings.silence_s)
            new = await self._on(owner, job, lambda on: on.jobs.put_part(owner, job, table, seq, head.body(data)))
        self._metrics.parts.labels("new" if new else "held").inc()
        return json_response({"part": seq, "new": new}, 201 if new else 200)

    async def _held(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        held = await self._on(owner, job, lambda on: on.jobs.held(owner, job, table))
        headers = {PARTS: ranges_text(held), COUNT: str(held.count), BYTES: str(held.bytes)}
        if held.complete is not None:
            headers[COMPLETE] = str(held.complete)
        return json_response(held, headers=headers)

    async def _complete(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        parts = (await read_json(request, CompleteBody)).parts
        new = await self._on(owner, job, lambda on: on.jobs.complete(owner, job, table, parts))
        return json_response({"table": table, "parts": parts, "new": new})

    async def _results(self, request: Request, owner: str) -> Response:
        job, query = request.path_params["job"], request.path_params["query"]
        asked = page_asked(request)
        if asked is None:
            media = choose(request.headers.get("accept"), tuple(FORMS))
            form = FORMS[media]
            return await self._stream(
                owner, job, SENT_AS[form], lambda on: answer_chunks(on.jobs.answer(owner, job, query), form)
            )
        return await self._page(
            request,
            owner,
            asked,
            lambda on, cursor, limit: on.jobs.result(owner, job, query, cursor, limit),
            lambda status: status.answers.get(query),
        )

    async def _rejects(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        asked = page_asked(request)
        if asked is None and choose(request.headers.get("accept"), (CSV, JSON)) == CSV:
            return await self._stream(owner, job, CSV, lambda on: text_chunks(on.jobs.rejects_csv(owner, job)))
        return await self._page(
            request,
            owner,
            asked or PageAsked(),
            lambda on, cursor, limit: on.jobs.rejects(owner, job, cursor, limit),
            lambda status: status.tables,
        )

    async def _page(
        self,
        request: Request,
        owner: str,
        asked: PageAsked,
        read: Callable[[Service, str | None, int], Page],
        extent: Callable[[JobStatus], object],
    ) -> Response:
        """A page as JSON, waited for if that was asked. That something has come in is seen by how far the status says
        that it extends: nothing is read again while that stays as it is."""
        choose(request.headers.get("accept"), (JSON,))
        job = request.path_params["job"]

        def take(on: Service) -> tuple[Page, bytes]:
            page = read(on, asked.cursor, asked.limit)
            return page, page_json(page)

        page, body = await self._on(owner, job, take)
        if asked.wait_s and waits(page):
            before = extent(await self._watching.status(owner, job))

            def grown(status: JobStatus) -> bool:
                return status.state in ENDED or extent(status) != before

            page, body = await self._on(owner, job, take)
            if waits(page) and await self._watching.until(owner, job, grown, asked.wait_s):
                page, body = await self._on(owner, job, take)
        return Response(body, media_type=JSON)

    async def _stream(
        self, owner: str, job: str, media: str, start: Callable[[Service], Iterator[bytes]]
    ) -> StreamingResponse:
        """A body that is made chunk by chunk in one thread, as fast as the client takes it. What can be wrong is
        found with the first chunk, before anything is sent."""
        member = self._pool.choose(f"{owner}.{job}")

        def begin(on: Service) -> tuple[Iterator[bytes], bytes]:
            chunks = start(on)
            return chunks, next(chunks, b"")

        chunks, first = await self._pool.run_on(member, begin)

        async def body() -> AsyncIterator[bytes]:
            yield first
            while (chunk := await self._pool.run_on(member, lambda _: next(chunks, None))) is not None:
                yield chunk

        return StreamingResponse(body(), headers={"content-type": media})

    async def _events(self, request: Request, owner: str) -> Response:
        choose(request.headers.get("accept"), (EVENT_STREAM,))
        job = request.path_params["job"]
        first = await self._on(owner, job, lambda on: on.jobs.status(owner, job))
        headers = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._watching.events(owner, job, first), headers=headers)


def exchange_of(request: Request) -> Exchange:
    exchange = request.scope["cauce.exchange"]
    assert isinstance(exchange, Exchange)
    return exchange


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def told_as(error: HttpError) -> Response:
    return problem(error.status, error.code, str(error), error.headers)


def waits(page: Page) -> bool:
    """Whether there is nothing yet, but something may come."""
    return page.rows.is_empty() and page.next is not None


def page_asked(request: Request) -> PageAsked | None:
    """None where the whole is asked for."""
    asked = request.query_params
    if not asked.keys() & {"cursor", "limit", "wait"}:
        return None
    cursor = asked.get("cursor")
    if cursor is not None and len(cursor) > CURSOR_LETTERS:
        raise bad_request("this is no cursor that was ever given; begin without one")
    limit = number(asked.get("limit", str(PAGE_ROWS)), "limit", MOST_ROWS)
    if limit < 1:
        raise bad_request("limit is to be 1 at least")
    return PageAsked(cursor, limit, _seconds(asked.get("wait", "0")))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds <= LONGEST_WAIT_S:
        raise bad_request(f"wait is to be seconds between 0 and {LONGEST_WAIT_S:g}, not {text[:40]!r}")
    return seconds


def ranges_text(held: Held) -> str:
    """`0-12,14`, as far as a header can hold it: what is left out may be sent again at no harm."""
    texts: list[str] = []
    size = 0
    for first, last in held.ranges:
        text = f"{first}-{last}" if last > first else f"{first}"
        size += len(text) + 1
        if size > PARTS_BYTES:
            break
        texts.append(text)
    return ",".join(texts)


def _route(path: str, methods: dict[str, Endpoint]) -> Route:
    async def endpoint(request: Request) -> Response:
        exchange_of(request).route = path
        chosen = methods.get(request.method)
        if chosen is None:
            allowed = ", ".join(sorted(methods))
            raise HttpError(405, "method-not-allowed", f"this can only be asked with {allowed}", {"Allow": allowed})
        return await chosen(request)

    route = Route(path, endpoint)
    route.methods = None
    return route


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise HttpError(404, "not-found", "there is nothing under this path; see /openapi.json for what there is")
