"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

FabricOption = Annotated[
    str,
    typer.Option(
        help="amqp://user:password@host:port/vhost[,host:port…]: logs and leases on a RabbitMQ cluster, not in files",
        metavar="ADDRESS",
        envvar="CAUCE_FABRIC",
        show_default=False,
    ),
]

SERVICE_ATTEMPTS = 10
"""Crashes of workers on one part before a service gives its job up. More than for a run: the processes of a service are
also killed for reasons that have nothing to do with the part."""
