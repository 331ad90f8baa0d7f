"""Declares the commands that operate the processes of a service. Imports an implementation only when its command
runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.help import OPERATE
from cauce.cli.options import JsonOption, SourceOptions

DirOption = Annotated[Path, typer.Option("--dir", help="directory of the service", metavar="DIR")]
Names = Annotated[list[str], typer.Argument(help="names of processes, such as worker-2", metavar="NAME")]


def stop(
    dir: DirOption,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="names of processes, such as worker-2; without any, the whole service", metavar="NAME"),
    ] = None,
) -> None:
    """Stop the service, or some of its processes.

    They stay stopped until they are started again.
    """
    from cauce.cli.remote.process_commands import stop_command

    stop_command(dir, names or [])


def start(dir: DirOption, names: Names) -> None:
    """Start processes that were stopped, or wait after crashes."""
    from cauce.cli.remote.process_commands import start_command

    start_command(dir, names)


def scale(
    dir: DirOption,
    counts: Annotated[
        list[str], typer.Argument(help="number of processes, such as workers=8 or workers@b=4", metavar="ROLE=N")
    ],
) -> None:
    """Change the number of workers, gateways or doctors."""
    from cauce.cli.remote.process_commands import scale_command

    scale_command(dir, counts)


def events(
    service: SourceOptions,
    follow: Annotated[bool, typer.Option("--follow", help="print new events until Ctrl-C")] = False,
    last: Annotated[int, typer.Option(help="number of events to show", min=1, metavar="N")] = 100,
    json: JsonOption = False,
) -> None:
    """List crashes, restarts, elections and other events."""
    from cauce.cli.remote.process_commands import events_command, source

    events_command(source(service, follow=follow), last, follow, json)


def top(
    service: SourceOptions,
    every: Annotated[float, typer.Option(help="refresh interval", min=0.2, max=60, metavar="SECONDS")] = 1.0,
) -> None:
    """Show the processes of the service, live; Ctrl-C ends it."""
    from cauce.cli.remote.process_commands import source, top_command

    top_command(source(service, follow=True), every)


def register(app: typer.Typer) -> None:
    for command in (stop, start, scale, events, top):
        app.command(rich_help_panel=OPERATE)(command)
