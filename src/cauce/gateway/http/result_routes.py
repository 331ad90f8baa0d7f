"""Routes of results and rejects: pages as JSON with long polling, or everything as a file, with backpressure."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cauce.api.formats import FORMATS, Format
from cauce.api.http import ARROW_FILE, CSV, JSON, PARQUET
from cauce.api.jobs import ENDED, JobStatus
from cauce.gateway.asgi.application import number
from cauce.gateway.asgi.negotiate import choose
from cauce.gateway.asgi.operations import BINARY, Json, Operation, parameter, ref, whole_number
from cauce.gateway.asgi.problems import bad_request
from cauce.gateway.http.downloads import FORMAT_OF, MEDIA_TYPE_OF, PageBody, answer_chunks, page_json, text_chunks
from cauce.gateway.jobs.result_cursor import MOST_ROWS
from cauce.gateway.model import RejectPage, ResultPage
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.status_polling import StatusPolling

MAX_WAIT_S = 30.0
PAGE_ROWS = 10_000
MAX_CURSOR_CHARS = 500

Page = ResultPage | RejectPage


@dataclass(frozen=True)
class PageParameters:
    cursor: str | None = None
    limit: int = PAGE_ROWS
    wait_s: float = 0.0


_PAGE = (
    parameter("cursor", {"type": "string", "maxLength": MAX_CURSOR_CHARS}, "`next` of the previous page"),
    parameter("limit", whole_number(1, MOST_ROWS, PAGE_ROWS), "Maximum number of rows"),
    parameter(
        "wait",
        {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S, "default": 0},
        "Seconds to wait for rows if there are none yet (long polling)",
    ),
)


def _format(*formats: str) -> Json:
    return parameter(
        "format",
        {"type": "string", "enum": list(formats)},
        "Download everything as a file in this format; without it, the `Accept` header decides",
    )


class ResultRoutes:
    def __init__(self, pool: Pool[Service], watching: StatusPolling) -> None:
        self._pool = pool
        self._watching = watching

    def operations(self) -> list[Operation]:
        page_or_array = {"oneOf": [ref(PageBody), {"type": "array", "items": {"type": "object"}}]}
        return [
            Operation(
                "GET",
                "/v1/jobs/{job}/results/{query}",
                "results",
                "A result: a page as JSON if `cursor`, `limit` or `wait` is given, else the whole result",
                self._results,
                {JSON: page_or_array, CSV: BINARY, ARROW_FILE: BINARY, PARQUET: BINARY},
                "Rows",
                parameters=(*_PAGE, _format(*FORMATS)),
                problems=(406, 409, 425),
            ),
            Operation(
                "GET",
                "/v1/jobs/{job}/rejects",
                "rejects",
                "Records that could not be read: a page as JSON, or all as CSV",
                self._rejects,
                {JSON: ref(PageBody), CSV: BINARY},
                "The rejects",
                parameters=(*_PAGE, _format("csv")),
                problems=(406, 409, 425),
            ),
        ]

    async def _results(self, request: Request, owner: str) -> Response:
        job, query = request.path_params["job"], request.path_params["query"]
        page = _parse_page(request)
        if page is None:
            form = _parse_format(request)
            chunks = await self._stream(
                owner, job, MEDIA_TYPE_OF[form], lambda on: answer_chunks(on.jobs.answer(owner, job, query), form)
            )
            return _as_download(chunks, request, f"{job}-{query}.{form}")
        return await self._page(
            request,
            owner,
            page,
            lambda on, cursor, limit: on.jobs.result(owner, job, query, cursor, limit),
            lambda status: status.answers.get(query),
        )

    async def _rejects(self, request: Request, owner: str) -> Response:
        job = request.path_params["job"]
        page = _parse_page(request)
        if page is None and ("format" in request.query_params or _accepts_csv(request)):
            _parse_format(request, ("csv",))
            chunks = await self._stream(owner, job, CSV, lambda on: text_chunks(on.jobs.rejects_csv(owner, job)))
            return _as_download(chunks, request, f"{job}-rejects.csv")
        return await self._page(
            request,
            owner,
            page or PageParameters(),
            lambda on, cursor, limit: on.jobs.rejects(owner, job, cursor, limit),
            lambda status: status.tables,
        )

    async def _page(
        self,
        request: Request,
        owner: str,
        parameters: PageParameters,
        read: Callable[[Service, str | None, int], Page],
        extent: Callable[[JobStatus], object],
    ) -> Response:
        """A page as JSON; long-polls if `wait` is given. A change of `extent` in the job status signals new rows; until
        then the page is not read again."""
        choose(request.headers.get("accept"), (JSON,))
        job = request.path_params["job"]

        def read_page(on: Service) -> tuple[Page, bytes]:
            page = read(on, parameters.cursor, parameters.limit)
            return page, page_json(page)

        page, body = await self._pool.run(read_page, f"{owner}.{job}")
        if parameters.wait_s and _is_pending(page):
            before = extent(await self._watching.status(owner, job))

            def grown(status: JobStatus) -> bool:
                return status.state in ENDED or extent(status) != before

            page, body = await self._pool.run(read_page, f"{owner}.{job}")
            if _is_pending(page) and await self._watching.until(owner, job, grown, parameters.wait_s):
                page, body = await self._pool.run(read_page, f"{owner}.{job}")
        return Response(body, media_type=JSON)

    async def _stream(
        self, owner: str, job: str, media: str, start: Callable[[Service], Iterator[bytes]]
    ) -> StreamingResponse:
        """Streams a body that one thread produces chunk by chunk, with backpressure from the client. The first chunk is
        read before anything is sent, so that errors still get a proper response."""
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


def _is_pending(page: Page) -> bool:
    """Whether the page is empty, but more rows may follow."""
    return page.rows.is_empty() and page.next is not None


def _parse_page(request: Request) -> PageParameters | None:
    """The requested page; None if the whole result is requested."""
    query = request.query_params
    if not query.keys() & {"cursor", "limit", "wait"}:
        return None
    cursor = query.get("cursor")
    if cursor is not None and len(cursor) > MAX_CURSOR_CHARS:
        raise bad_request("invalid cursor; start again without one")
    limit = number(query.get("limit", str(PAGE_ROWS)), "limit", MOST_ROWS, least=1)
    return PageParameters(cursor, limit, _seconds(query.get("wait", "0")))


def _parse_format(request: Request, formats: tuple[Format, ...] = FORMATS) -> Format:
    """The format of a whole result: the parameter `format` if given (as in links), else by the Accept header."""
    named = request.query_params.get("format")
    if named is None:
        offered = tuple(media for media in FORMAT_OF if FORMAT_OF[media] in formats)
        return FORMAT_OF[choose(request.headers.get("accept"), offered)]
    found = next((each for each in formats if each == named), None)
    if found is None:
        raise bad_request(f"unknown format {named[:40]!r}; expected one of {', '.join(formats)}")
    return found


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds <= MAX_WAIT_S:
        raise bad_request(f"wait must be a number of seconds between 0 and {MAX_WAIT_S:g}, not {text[:40]!r}")
    return seconds


def _accepts_csv(request: Request) -> bool:
    return choose(request.headers.get("accept"), (CSV, JSON)) == CSV


def _as_download(response: Response, request: Request, name: str) -> Response:
    """Marks the response as a file download if the URL names the format, as links do."""
    if "format" in request.query_params:
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response
