"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def dataset_names(incomplete: str) -> list[str]:
    """For completion in a shell: the built-in datasets. Paths are completed by the shell itself."""
    from cauce.datasets import BUILT_IN

    return [name for name in BUILT_IN if name.startswith(incomplete)]


def format_names(incomplete: str) -> list[str]:
    from cauce.wire import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


DatasetArgument = Annotated[
    str,
    typer.Argument(
        help="books, movies, flights, coffee, or the path of your own .py file",
        metavar="DATASET",
        autocompletion=dataset_names,
    ),
]
DataOption = Annotated[Path, typer.Option(help="directory with the dataset's files", metavar="DIR")]
OutOption = Annotated[Path, typer.Option(help="directory for the answers", metavar="DIR")]
FormatOption = Annotated[
    str,
    typer.Option(help="format of the answers: csv, json, parquet or arrow", metavar="FORMAT",
                 autocompletion=format_names),
]  # fmt: skip
QueriesOption = Annotated[
    str, typer.Option(help="queries to answer, separated by commas", metavar="Q1,Q2", show_default="all")
]
SentimentOption = Annotated[
    str, typer.Option(help="how texts are scored: vader or textblob", metavar="NAME", show_default="vader")
]
PartitionsOption = Annotated[
    int,
    typer.Option(help="partitions of every keyed stage", min=0, max=4096, metavar="N", show_default="number of cores"),
]
WorkersOption = Annotated[
    int, typer.Option(help="worker processes", min=0, max=256, metavar="N", show_default="number of cores")
]
ParamOption = Annotated[
    list[str] | None, typer.Option(help="a parameter of the dataset; repeatable", metavar="NAME=VALUE")
]
PowerOption = Annotated[
    bool, typer.Option("--power-safe", help="survive a power failure too (fsync), not only killed processes")
]
AttemptsOption = Annotated[
    int, typer.Option(help="worker crashes on one part before the job fails", min=1, metavar="N")
]
SeedOption = Annotated[int, typer.Option(help="seed of the random choices", min=0, metavar="N")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
FabricOption = Annotated[
    str,
    typer.Option(
        help="keep logs and leases on a RabbitMQ cluster instead of in files: "
        "amqp://user:password@host:port/vhost[,host:port…]",
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

SERVICE_ATTEMPTS = 10
"""Crashes of workers on one part before a service gives its job up. More than for a run: the processes of a service are
also killed for reasons that have nothing to do with the part."""
