"""The commands on a cluster as they are called. Their bodies are loaded when one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.options import FabricOption
from cauce.cli.serve import (
    AttemptsOption,
    CertOption,
    DatasetOption,
    DoctorsOption,
    FilesOption,
    HostOption,
    IncarnationOption,
    KeyFileOption,
    KeyOption,
    LimitOption,
    NameOption,
    PowerOption,
    RestartsOption,
    TimingOption,
    TokensOption,
    launching_of,
)
from cauce.cli.service import Ca, Gateways, Json, Token

DirOption = Annotated[Path, typer.Option("--dir", help="folder of the service")]
MaybeDirOption = Annotated[
    Path | None, typer.Option("--dir", help="folder of the service; without it a gateway is asked", show_default=False)
]
Names = Annotated[list[str], typer.Argument(help="names such as worker-2", metavar="NAME...")]


def worker(
    dir: DirOption,
    fabric: FabricOption = "",
    power_safe: PowerOption = False,
    attempts: AttemptsOption = 3,
    name: NameOption = "",
    incarnation: IncarnationOption = "",
    restarts: RestartsOption = 0,
    doctors: DoctorsOption = "",
    key_file: KeyFileOption = None,
) -> None:
    """Run one worker: on a host of its own, or beside a gateway that shares its folder or fabric."""
    from cauce.cli.alone import Calling, worker_alone
    from cauce.cli.bodies import Launching

    calling = Calling("worker", dir, name, incarnation, restarts, doctors, key_file)
    given = Launching(fabric=fabric, power_safe=power_safe, attempts=attempts)
    raise typer.Exit(worker_alone(calling, given))


def doctor(
    dir: DirOption,
    name: NameOption = "",
    listen: Annotated[
        str, typer.Option(help="address to listen on, if not its own of --doctors", metavar="HOST:PORT")
    ] = "",
    doctors: DoctorsOption = "",
    key_file: KeyFileOption = None,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port for gateways on this host, if it is to have any", max=65535)] = 0,
    tokens: TokensOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    fabric: FabricOption = "",
    power_safe: PowerOption = False,
    attempts: AttemptsOption = 3,
    timing: TimingOption = None,
    incarnation: IncarnationOption = "",
    restarts: RestartsOption = 0,
) -> None:
    """Run one doctor: of the service in --dir, or of one over several hosts, named by --doctors and --key-file.

    The other options are for the gateways and workers that it starts on this host.
    """
    from cauce.cli.alone import Calling, doctor_alone

    calling = Calling("doctor", dir, name, incarnation, restarts, doctors, key_file)
    given = launching_of(
        host, port, tokens, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric, attempts
    )
    raise typer.Exit(doctor_alone(calling, given, listen, timing or []))


def stop(
    dir: DirOption,
    names: Annotated[
        list[str] | None, typer.Argument(help="names such as worker-2; without any, everything", metavar="NAME...")
    ] = None,
) -> None:
    """End the service in good order, or single processes of it. What was stopped stays stopped."""
    from cauce.cli.operating import stop_command

    stop_command(dir, names or [])


def start(dir: DirOption, names: Names) -> None:
    """Have processes run again that were stopped or parked."""
    from cauce.cli.operating import start_command

    start_command(dir, names)


def scale(
    dir: DirOption,
    counts: Annotated[list[str], typer.Argument(help="such as workers=8 or workers@b=4", metavar="ROLE=NUMBER...")],
) -> None:
    """Change how many processes of a role there are, while the service runs."""
    from cauce.cli.operating import scale_command

    scale_command(dir, counts)


def events(
    dir: MaybeDirOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="go on with what happens from now on")] = False,
    last: Annotated[int, typer.Option(help="how many to show", min=1)] = 100,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Json = False,
) -> None:
    """Show what happened to the processes of the service: deaths, restarts, elections."""
    from cauce.cli.operating import events_command, source

    events_command(source(dir, gateway, token, ca, follow=follow), last, follow, json)


def top(
    dir: MaybeDirOption = None,
    every: Annotated[float, typer.Option(help="seconds between two looks", min=0.2, max=60)] = 1.0,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
) -> None:
    """Show the processes of the service, live, until Ctrl-C."""
    from cauce.cli.operating import source, top_command

    top_command(source(dir, gateway, token, ca, follow=True), every)


def register(app: typer.Typer) -> None:
    for command in (worker, doctor, stop, start, scale, events, top):
        app.command()(command)
