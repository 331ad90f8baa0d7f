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
MaxRejectsOption = Annotated[
    str,
    typer.Option(
        help="fail, without answers, if more rows than this are rejected: of all tables (100), or of any table (5%)",
        metavar="N|P%",
        show_default=False,
    ),
]
