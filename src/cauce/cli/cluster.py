"""The commands on a cluster as they are called. Their bodies are loaded when one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.help import OPERATE, SERVICE
from cauce.cli.options import SERVICE_ATTEMPTS, AttemptsOption, FabricOption, JsonOption, PowerOption
from cauce.cli.serve import (
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
    RequireTokenOption,
    RestartsOption,
    TimingOption,
    TokensOption,
    launching_of,
)
from cauce.cli.service import Ca, Gateways, Token

DirOption = Annotated[Path, typer.Option("--dir", help="directory of the service", metavar="DIR")]
MaybeDirOption = Annotated[
    Path | None, typer.Option("--dir", help="directory of the service, instead of --gateway", metavar="DIR")
]
Names = Annotated[list[str], typer.Argument(help="names of processes, such as worker-2", metavar="NAME")]


def worker(
    dir: DirOption,
    fabric: FabricOption = "",
    power_safe: PowerOption = False,
    attempts: AttemptsOption = SERVICE_ATTEMPTS,
    name: NameOption = "",
    incarnation: IncarnationOption = "",
    restarts: RestartsOption = 0,
    doctors: DoctorsOption = "",
    key_file: KeyFileOption = None,
) -> None:
    """Run a single worker, on this or another machine.

    It shares a directory or a fabric with the gateways.
    """
    from cauce.cli.alone import Calling, worker_alone
    from cauce.cli.bodies import Launching

    calling = Calling("worker", dir, name, incarnation, restarts, doctors, key_file)
    given = Launching(fabric=fabric, power_safe=power_safe, attempts=attempts)
    raise typer.Exit(worker_alone(calling, given))


def doctor(
    dir: DirOption,
    name: NameOption = "",
    listen: Annotated[
        str,
        typer.Option(help="address to listen on", metavar="HOST:PORT", show_default="its own one in --doctors"),
    ] = "",
    doctors: DoctorsOption = "",
    key_file: KeyFileOption = None,
    host: HostOption = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="port of the gateways on this host (0: no gateways)", min=0, max=65535, metavar="PORT")
    ] = 0,
    tokens: TokensOption = None,
    require_token: RequireTokenOption = False,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    fabric: FabricOption = "",
    power_safe: PowerOption = False,
    attempts: AttemptsOption = SERVICE_ATTEMPTS,
    timing: TimingOption = None,
    incarnation: IncarnationOption = "",
    restarts: RestartsOption = 0,
) -> None:
    """Run a single doctor, which starts and restarts processes.

    It belongs to the service in --dir, or to one over several hosts that --doctors and --key-file describe.
    The other options are for the gateways and workers that it starts on this host.
    """
    from cauce.cli.alone import Calling, doctor_alone

    calling = Calling("doctor", dir, name, incarnation, restarts, doctors, key_file)
    given = launching_of(
        host, port, tokens, require_token, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric, attempts
    )
    raise typer.Exit(doctor_alone(calling, given, listen, timing or []))


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
    from cauce.cli.operating import stop_command

    stop_command(dir, names or [])


def start(dir: DirOption, names: Names) -> None:
    """Start processes that were stopped or wait after crashes."""
    from cauce.cli.operating import start_command

    start_command(dir, names)


def scale(
    dir: DirOption,
    counts: Annotated[
        list[str], typer.Argument(help="number of processes, such as workers=8 or workers@b=4", metavar="ROLE=N")
    ],
) -> None:
    """Change the number of workers, gateways or doctors."""
    from cauce.cli.operating import scale_command

    scale_command(dir, counts)


def events(
    dir: MaybeDirOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="print new events until Ctrl-C")] = False,
    last: Annotated[int, typer.Option(help="number of events to show", min=1, metavar="N")] = 100,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: JsonOption = False,
) -> None:
    """List crashes, restarts, elections and other events."""
    from cauce.cli.operating import events_command, source

    events_command(source(dir, gateway, token, ca, follow=follow), last, follow, json)


def top(
    dir: MaybeDirOption = None,
    every: Annotated[float, typer.Option(help="refresh interval", min=0.2, max=60, metavar="SECONDS")] = 1.0,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
) -> None:
    """Show the processes of the service, live; Ctrl-C ends it."""
    from cauce.cli.operating import source, top_command

    top_command(source(dir, gateway, token, ca, follow=True), every)


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=SERVICE)(worker)
    app.command(rich_help_panel=SERVICE)(doctor)
    for command in (stop, start, scale, events, top):
        app.command(rich_help_panel=OPERATE)(command)
