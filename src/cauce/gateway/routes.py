"""What can be asked of a gateway, and what each request does with the job service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cauce.gateway import dashboard
from cauce.gateway.access import Access
from cauce.gateway.cluster import ClusterRoutes
from cauce.gateway.cluster_live import ClusterLive
from cauce.gateway.downloads import SENT_AS, answer_chunks, page_json, text_chunks
from cauce.gateway.exchange import Exchange
from cauce.gateway.gate import Gate
from cauce.gateway.headers import number, part_head
from cauce.gateway.hold_up import with_notice
from cauce.gateway.metrics import MEDIA_TYPE, Metrics
from cauce.gateway.model import ENDED, Held, JobRequest, JobStatus
from cauce.gateway.negotiate import choose
from cauce.gateway.openapi import AliveBody, CompleteBody, describe
from cauce.gateway.paging import Page, PageAsked, form_asked, page_asked, waits
from cauce.gateway.pool import Pool
from cauce.gateway.problems import HttpError, bad_request, stopping
from cauce.gateway.receiving import Room, announced_bytes, read_body, read_json
from cauce.gateway.service import Service
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.showing import Showing
from cauce.gateway.watching import Watching
from cauce.wire.http import BYTES, COMPLETE, COUNT, CSV, JSON, PARTS
from cauce.wire.traces import PartName, open_traces

READY_S = 2.0
MOST_RECEIPTS = 10_000
PARTS_BYTES = 8 << 10
"""As much as a header can hold of which parts are there; the rest of them is told as JSON only."""

Outcome = TypeVar("Outcome")
Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, str], Awaitable[Response]]


class Routes:
    def __init__(
        self,
        settings: GatewaySettings,
        pool: Pool[Service],
        access: Access,
        gate: Gate,
        watching: Watching,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._access = access
        self._gate = gate
        self._room = Room(settings.room_bytes, settings.room_bytes // 2)
        self._watching = watching
        self._showing = Showing(pool, watching)
        self._cluster = ClusterRoutes(settings.folder, pool, watching.workforce)
        self._live = ClusterLive(settings.folder, pool, watching)
        self._metrics = metrics
        self._traces = open_traces("gateway")
        self._description = msgspec.json.encode(describe())

    def all(self) -> list[Route]:
        return [_route(path, methods) for path, methods in self.table().items()]

    def table(self) -> dict[str, dict[str, Endpoint]]:
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
            job + "/rejects": {"GET": own(self._rejects)},
            job + "/results/{query}": {"GET": own(self._results)},
            table: {"GET": own(self._held), "HEAD": own(self._held)},
            table + "/complete": {"POST": own(self._complete)},
            table + "/parts": {"GET": own(self._parts)},
            table + "/parts/{seq}": {"PUT": own(self._put_part)},
            **dashboard.table(),
            **{
                path: {method: own(handler) for method, handler in methods.items()}
                for given in (self._showing, self._cluster, self._live)
                for path, methods in given.table().items()
            },
        }

    def _owned(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            owner = self._access.owner(request)
            self._gate.enter_as(owner)
            # From here on it counts as the owner's until its answer has been sent.
            exchange_of(request).owner = owner
            return await handler(request, owner)

        return endpoint

    async def _on(self, owner: str, job: str, step: Callable[[Service], Outcome]) -> Outcome:
        return await self._pool.run(step, f"{owner}.{job}")

    def close(self) -> None:
        """What is still to be told is told."""
        if self._traces is not None:
            self._traces.close()

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        if self._watching.stopped:
            raise stopping()
        # A service without workers is ready: it takes jobs, and other gateways would do no better.
        try:
            async with asyncio.timeout(READY_S):
                await self._pool.run(Service.check, "ready")
        except TimeoutError:
            raise HttpError(503, "unavailable", f"the fabric did not answer within {READY_S:g} s") from None
        missing = await self._watching.workforce.missing("")
        return json_response(AliveBody("ready", "" if missing is None else missing.text))

    async def _measure(self, request: Request) -> Response:
        self._metrics.open.set(self._gate.open)
        self._metrics.body_bytes.set(self._room.held)
        self._metrics.waiting.set(self._pool.waiting)
        text = await self._pool.run(lambda _: self._metrics.text(), "metrics")
        return Response(text, headers={"content-type": MEDIA_TYPE})

    async def _describe(self, request: Request) -> Response:
        return Response(self._description, media_type=JSON)

    async def _list(self, request: Request, owner: str) -> Response:
        jobs = await self._pool.run(lambda on: on.jobs.list(owner), "list")
        return json_response({"jobs": await self._watching.workforce.all_noted(owner, jobs)})

    async def _status(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        status = await self._on(owner, job, lambda on: on.jobs.status(owner, job))
        return json_response(await self._watching.workforce.noted(owner, status))

    async def _why(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        why = await self._on(owner, job, lambda on: on.jobs.why(owner, job))
        return json_response({"why": with_notice(await self._watching.status(owner, job), why)})

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
        began = time.time()
        async with self._room.of(owner, min(limit, limit if announced is None else announced)):
            data = await read_body(request, limit, "part-too-large", self._settings.silence_s)
            new = await self._on(owner, job, lambda on: on.jobs.put_part(owner, job, table, seq, head.body(data)))
        self._metrics.parts.labels("new" if new else "held").inc()
        if new and self._traces is not None:
            self._traces.received(PartName(f"{owner}.{job}", table, seq), began, time.time(), len(data))
        return json_response({"part": seq, "new": new}, 201 if new else 200)

    async def _held(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        held = await self._on(owner, job, lambda on: on.jobs.held(owner, job, table))
        headers = {PARTS: ranges_text(held), COUNT: str(held.count), BYTES: str(held.bytes)}
        if held.complete is not None:
            headers[COMPLETE] = str(held.complete)
        return json_response(held, headers=headers)

    async def _parts(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        first = number(request.query_params.get("from", "0"), "from")
        limit = number(request.query_params.get("limit", str(MOST_RECEIPTS)), "limit", MOST_RECEIPTS)
        if limit < 1:
            raise bad_request("limit must be at least 1")
        found = await self._on(owner, job, lambda on: on.jobs.parts(owner, job, table, first, limit))
        return json_response(found)

    async def _complete(self, request: Request, owner: str) -> Response:
        job, table = request.path_params["job"], request.path_params["table"]
        parts = (await read_json(request, CompleteBody)).parts
        new = await self._on(owner, job, lambda on: on.jobs.complete(owner, job, table, parts))
        return json_response({"table": table, "parts": parts, "new": new})

    async def _results(self, request: Request, owner: str) -> Response:
        job, query = request.path_params["job"], request.path_params["query"]
        asked = page_asked(request)
        if asked is None:
            form = form_asked(request)
            chunks = await self._stream(
                owner, job, SENT_AS[form], lambda on: answer_chunks(on.jobs.answer(owner, job, query), form)
            )
            return _saved_as(chunks, request, f"{job}-{query}.{form}")
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
        if asked is None and ("format" in request.query_params or _accepts_csv(request)):
            form_asked(request, ("csv",))
            chunks = await self._stream(owner, job, CSV, lambda on: text_chunks(on.jobs.rejects_csv(owner, job)))
            return _saved_as(chunks, request, f"{job}-rejects.csv")
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


def _accepts_csv(request: Request) -> bool:
    return choose(request.headers.get("accept"), (CSV, JSON)) == CSV


def _saved_as(response: Response, request: Request, name: str) -> Response:
    """A link names the form in its address, and leads to a file."""
    if "format" in request.query_params:
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def exchange_of(request: Request) -> Exchange:
    exchange = request.scope["cauce.exchange"]
    assert isinstance(exchange, Exchange)
    return exchange


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


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
