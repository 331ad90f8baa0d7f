"""The tools, and the two transports: standard input and output, and streamable HTTP on loopback with a token."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from cauce import __version__
from cauce.errors import CauceError
from cauce.mcp.results import Limits, Plan, Rejects, Run, Tables
from cauce.mcp.source import Question, Source

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
INSTRUCTIONS = """Answers SQL over tables, exactly. Call list_tables first. The dialect is that of DuckDB: SELECT
statements only. Results have a limited number of rows: aggregate, or use ORDER BY with LIMIT. Cells that cannot be
read are rejected, not guessed: check `rejected`, and call rejects to see them."""


Statements = Annotated[str, Field(description="SELECT statements, separated by semicolons")]
DatasetName = Annotated[str, Field(description="a dataset of list_tables; may be empty if there is only one")]
MaxRows = Annotated[int, Field(description="most rows of each answer; 0: the limit of the server", ge=0)]
Parameters = Annotated[dict[str, str] | None, Field(description="values of the parameters")]
Types = Annotated[
    dict[str, str] | None,
    Field(
        description="types of columns of files, if the inferred ones do not suit, such as orders.paid: decimal(18,2)"
    ),
]
READING = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


class Tools:
    """The tools over one source. Their docstrings are shown to clients."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits

    def list_tables(self) -> Tables:
        """List the tables with their columns and types, and the named queries."""
        with _clear_errors():
            return self._source.tables()

    def run_sql(
        self,
        sql: Statements,
        dataset: DatasetName = "",
        max_rows: MaxRows = 0,
        parameters: Parameters = None,
        types: Types = None,
    ) -> Run:
        """Answer SQL statements. All of them are one job, which reads each file as few times as possible."""
        with _clear_errors():
            question = Question(sql, dataset, parameters or {}, types or {})
            return self._source.sql(question, self._bounded(max_rows))

    def run_query(
        self,
        name: Annotated[str, Field(description="a query of list_tables")],
        max_rows: MaxRows = 0,
        parameters: Parameters = None,
    ) -> Run:
        """Answer a named query of the declared dataset."""
        with _clear_errors():
            return self._source.query(name, parameters or {}, self._bounded(max_rows))

    def explain_sql(
        self, sql: Statements, dataset: DatasetName = "", parameters: Parameters = None, types: Types = None
    ) -> Plan:
        """Show the plan of SQL statements without running them."""
        with _clear_errors():
            return self._source.explain(Question(sql, dataset, parameters or {}, types or {}), self._limits)

    def rejects(self, run: Annotated[str, Field(description="`run` of a result")], max_rows: MaxRows = 0) -> Rejects:
        """List the rows and cells that a run could not read, with file, line, column and reason."""
        with _clear_errors():
            return self._source.rejects(run, self._bounded(max_rows))

    def _bounded(self, max_rows: int) -> Limits:
        return replace(self._limits, rows=min(max_rows, self._limits.rows) if max_rows else self._limits.rows)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except CauceError as problem:
        raise ToolError(str(problem)) from None


def server_of(source: Source, limits: Limits) -> MCPServer:
    server = MCPServer("cauce", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = Tools(source, limits)
    for each in (tools.list_tables, tools.run_sql, tools.run_query, tools.explain_sql, tools.rejects):
        server.add_tool(each, annotations=READING)
    return server


def serve_stdio(server: MCPServer) -> None:
    server.run("stdio")


def serve_http(server: MCPServer, bound: socket.socket, token: str) -> None:
    """Serves on a bound socket until a signal."""
    import uvicorn

    app = server.streamable_http_app(streamable_http_path=PATH, host="127.0.0.1")
    config = uvicorn.Config(with_token(app, token), lifespan="on", log_level="warning", access_log=False)
    uvicorn.Server(config).run([bound])


def with_token(app: App, token: str) -> App:
    """Refuses requests without the token as a bearer."""
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] != "lifespan" and not hmac.compare_digest(given, expected):
            await send(
                {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]},
            )
            await send({"type": "http.response.body", "body": b"a token is required: Authorization: Bearer TOKEN\n"})
            return
        await app(scope, receive, send)

    return checked
