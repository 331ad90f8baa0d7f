"""`cauce mcp`: serves tables to programs that speak the Model Context Protocol."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.api.names import is_loopback
from cauce.cli.options import ConnectionOptions, MemoryOption, SchemaOption, TypeOption, named_values
from cauce.errors import UsageError
from cauce.process.signals import sigterm_as_interrupt

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from cauce.mcp.source import Source


@dataclass(frozen=True, kw_only=True)
class McpOptions:
    data: Annotated[
        Path | None,
        typer.Option(help="directory with the files: orders.csv is table orders", metavar="DIR",
                     show_default="the kept datasets of a service"),
    ] = None  # fmt: skip
    dataset: Annotated[
        str,
        typer.Option(help="with --data: declared dataset, whose queries are offered too", metavar="DATASET",
                     show_default=False),
    ] = ""  # fmt: skip
    schema: SchemaOption = None
    type: TypeOption = None
    memory: MemoryOption = ""
    max_rows: Annotated[int, typer.Option(help="rows of an answer", min=1, max=100_000, metavar="N")] = 200
    max_bytes: Annotated[
        int, typer.Option(help="bytes of the rows of a result", min=1000, max=2**26, metavar="BYTES")
    ] = 200_000
    max_seconds: Annotated[float, typer.Option(help="time of a call", min=0.1, max=3600, metavar="SECONDS")] = 60.0
    http: Annotated[bool, typer.Option("--http", help="serve HTTP, not standard input and output")] = False
    host: Annotated[str, typer.Option(help="with --http: a loopback address", metavar="ADDRESS")] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="with --http: port (0: any free one)", min=0, max=65535, metavar="PORT")] = (
        8090
    )
    access_token: Annotated[
        str,
        typer.Option(
            help="with --http: token that clients must send; prefer CAUCE_MCP_ACCESS_TOKEN",
            metavar="TOKEN",
            show_default="a new one, which is printed",
        ),
    ] = ""


def mcp_command(options: McpOptions, connection: ConnectionOptions) -> None:
    from cauce.mcp.results import Limits

    if options.dataset and options.data is None:
        raise UsageError("--dataset needs the files of the dataset: name their directory with --data")
    try:
        from cauce.mcp.server import serve_stdio, server_of
    except ImportError as problem:
        raise UsageError(f"the package {problem.name} is not installed: pip install 'cauce[mcp]'") from None
    source = _source(options, connection)
    try:
        server = server_of(source, Limits(options.max_rows, options.max_bytes, options.max_seconds))
        # Without it, a SIGTERM would leave the temporary files of the source.
        with sigterm_as_interrupt():
            if options.http:
                _serve_http(options, server)
            else:
                serve_stdio(server)
    finally:
        source.close()


def _source(options: McpOptions, connection: ConnectionOptions) -> Source:
    if options.data is None:
        from cauce.cli.remote.job_commands import service
        from cauce.mcp.service import ServiceSource

        return ServiceSource(service(connection))
    from cauce.mcp.folder import FolderSettings, FolderSource

    # The name of a folder is shown: `.` has none.
    data = options.data.absolute()
    types = named_values("--type", options.type, "orders.paid=decimal")
    settings = FolderSettings(data, options.dataset, options.schema, types, options.memory)
    return FolderSource(settings)


def _serve_http(options: McpOptions, server: MCPServer) -> None:
    from cauce.gateway.process import Place
    from cauce.mcp.server import PATH, serve_http
    from cauce.terminal.console import print_line, warn

    if not is_loopback(options.host):
        raise UsageError(f"--host {options.host} is not a loopback address; put a proxy with TLS before the server")
    place = Place(options.host, options.port)
    token = options.access_token or secrets.token_urlsafe(32)
    with place.bind() as bound:
        # Requests are accepted from now on, and answered when the server has started.
        bound.listen()
        print_line(f"Cauce serves MCP on {place.url(bound)}{PATH}")
        if not options.access_token:
            warn(f"clients must send the header: Authorization: Bearer {token}")
        serve_http(server, bound, token)
