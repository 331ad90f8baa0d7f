"""`cauce serve`, `gateway`, `worker`, `doctor`: start a service or a single process of it. `cauce token`: manage access
tokens."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.configured import from_file
from cauce.cli.help import OPERATE, SERVICE, CommandLine
from cauce.cli.options import (
    DirOption,
    HostOptions,
    IdentityOptions,
    JsonOption,
    ListenOptions,
    ProcessOptions,
    TimingOption,
    WorkerOptions,
)
from cauce.process.limits import cores
from cauce.terminal.console import print_json, print_line, warn, warn_if_wide
from cauce.terminal.invocation import command
from cauce.worker.events import SERVICE_ATTEMPTS

if TYPE_CHECKING:
    from cauce.service.entrypoints import ServiceConfig
    from cauce.service.startup import ServiceSize

TokenArgument = Annotated[str, typer.Argument(help="name of the token's owner", metavar="NAME")]

token_app = CommandLine("Create, list and remove access tokens.")


def register(app: typer.Typer) -> None:
    for each in (serve, gateway, worker, doctor):
        app.command(rich_help_panel=SERVICE)(each)
    app.add_typer(token_app, name="token", rich_help_panel=OPERATE)


@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Number of processes of a service, and how they are watched."""

    workers: Annotated[
        int | None,
        typer.Option(
            help="worker processes", min=0, max=256, metavar="N", show_default="as before, else the number of cores"
        ),
    ] = None
    gateways: Annotated[
        int | None,
        typer.Option(help="gateway processes", min=1, max=64, metavar="N", show_default="as before, else 2"),
    ] = None
    doctors: Annotated[
        int | None,
        typer.Option(help="doctor processes", min=1, max=9, metavar="N", show_default="as before, else 3"),
    ] = None
    watch: Annotated[
        str | None,
        typer.Option(
            help="star: the leader watches all processes; ring: each watches its neighbour", metavar="STAR|RING"
        ),
    ] = None
    timing: TimingOption = None
    cluster: Annotated[
        Path | None,
        typer.Option(help="cluster.toml with process counts and timeouts", metavar="FILE", show_default=False),
    ] = None
    end_with: Annotated[
        int, typer.Option(hidden=True, help="stop when this process ends", metavar="PID", allow_from_autoenv=False)
    ] = 0


@dataclass(frozen=True, kw_only=True)
class ContainerOptions:
    image: Annotated[
        str,
        typer.Option(help="run workers and gateways in containers of this image", metavar="IMAGE", show_default=False),
    ] = ""
    docker: Annotated[str, typer.Option(help="address of the Docker daemon", metavar="ADDRESS")] = (
        "unix:///var/run/docker.sock"
    )


def serve(
    context: typer.Context,
    dir: DirOption,
    listen: ListenOptions,
    size: SizeOptions,
    workers: WorkerOptions,
    containers: ContainerOptions,
    detach: Annotated[
        bool, typer.Option("--detach", help="return when the service is ready; cauce stop ends it")
    ] = False,
) -> None:
    """Start a service: gateways, workers and doctors, over HTTP.

    Doctors restart processes that fail. Ctrl-C or SIGTERM ends the service.
    """
    from cauce.service.entrypoints import prepare

    prepare(dir.resolve())
    from cauce.service.serve import Serving
    from cauce.service.startup import in_containers

    given = in_containers(config_of(listen, workers, workers.attempts), containers.image, containers.docker)
    wanted = _wanted(context, size)
    wanted.check()
    ready = partial(_print_detached, dir) if detach else _print_ready
    code = Serving(dir, given, wanted, ready).run(detach=detach)
    if code or not detach:
        print_line(f"Stopped the service in {dir}.")
    raise typer.Exit(code)


def _wanted(context: typer.Context, size: SizeOptions) -> ServiceSize:
    """Combines the options with `--cluster`, which has precedence over the configuration file unless it is named
    there."""
    from cauce.service.startup import ServiceSize, with_file

    given = ServiceSize(size.workers, size.gateways, size.doctors, size.watch, size.timing or [], size.end_with)
    if size.cluster is None or from_file(context, "cluster"):
        return with_file(given, size.cluster)
    low = ServiceSize()
    for name in ("workers", "gateways", "doctors", "watch", "timing"):
        if from_file(context, name):
            setattr(low, name, getattr(given, name))
            setattr(given, name, [] if name == "timing" else None)
    return with_file(given, size.cluster).over(low)


def gateway(dir: DirOption, listen: ListenOptions, process: ProcessOptions, identity: IdentityOptions) -> None:
    """Run a single gateway, without workers.

    Several gateways and workers may share a directory or a fabric.
    """
    from cauce.service.standalone import ProcessIdentity, gateway_alone

    named = ProcessIdentity("gateway", dir, **vars(identity))
    raise typer.Exit(gateway_alone(named, config_of(listen, process, alone=True), _print_ready))


def worker(dir: DirOption, process: WorkerOptions, identity: IdentityOptions) -> None:
    """Run a single worker, on this or another machine.

    It shares a directory or a fabric with the gateways, and works on jobs whose datasets it has: the built-in ones
    and those given with --dataset.
    """
    from cauce.service.standalone import ProcessIdentity, worker_alone

    named = ProcessIdentity("worker", dir, **vars(identity))
    raise typer.Exit(worker_alone(named, config_of(HostOptions(), process, process.attempts, alone=True)))


def doctor(
    dir: DirOption,
    identity: IdentityOptions,
    host: HostOptions,
    workers: WorkerOptions,
    listen: Annotated[
        str,
        typer.Option(help="address for heartbeats (UDP)", metavar="HOST:PORT", show_default="its own one in --doctors"),
    ] = "",
    timing: TimingOption = None,
) -> None:
    """Run a single doctor, which starts and restarts processes.

    It belongs to the service in --dir, or to one over several hosts that --doctors and --key-file describe.
    The other options are for the gateways and workers that it starts on this host.
    """
    from cauce.service.standalone import ProcessIdentity, doctor_alone

    named = ProcessIdentity("doctor", dir, **vars(identity))
    given = config_of(host, workers, workers.attempts)
    raise typer.Exit(doctor_alone(named, given, listen, timing or []))


def config_of(
    listen: ListenOptions, process: ProcessOptions, attempts: int = SERVICE_ATTEMPTS, *, alone: bool = False
) -> ServiceConfig:
    """`alone`: for a single process, whose `--memory` is that of one worker."""
    from cauce.process.memory_limit import parse_size
    from cauce.process.telemetry.logs import LogSettings
    from cauce.service.entrypoints import ServiceConfig

    memory = parse_size(process.memory) if process.memory else 0
    LogSettings(process.log_format, process.log_level).check()
    return ServiceConfig(
        listen.host,
        listen.port,
        require_token=listen.require_token,
        tls_cert=str(listen.tls_cert or ""),
        tls_key=str(listen.tls_key or ""),
        tokens=str(listen.tokens or ""),
        datasets=[str(each) for each in process.dataset or []],
        allow_files=[str(each) for each in listen.allow_files or []],
        limits=listen.limit or [],
        power_safe=process.power_safe,
        fabric=process.fabric,
        lanes=cores(),
        attempts=attempts,
        memory=memory * cores() if alone else memory,
        log_format=process.log_format,
        log_level=process.log_level,
    )


@token_app.command("create")
def token_create(name: TokenArgument, dir: DirOption) -> None:
    """Create a token and print it.

    Only its hash is stored: it cannot be shown again.
    """
    from cauce.gateway.tokens import FILE, create_token

    token = create_token(dir / FILE, name)
    warn_if_wide(dir)
    print_line(token)


@token_app.command("list")
def token_list(dir: DirOption, json: JsonOption = False) -> None:
    """List the names and creation times of the tokens."""
    from cauce.gateway.tokens import FILE, read_tokens

    entries = read_tokens(dir / FILE)
    if json:
        listed = [
            {"name": name, "created": entry.created, "owner": entry.owner or name} for name, entry in entries.items()
        ]
        print_json(listed)
        return
    if not entries:
        warn(f"there are no tokens in {dir}; create one with: {command('token', 'create', 'NAME', '--dir', str(dir))}")
    for name, entry in entries.items():
        print_line(f"{name}\t{datetime.fromtimestamp(entry.created, UTC):%Y-%m-%d %H:%M:%S} UTC")


@token_app.command("remove")
def token_remove(name: TokenArgument, dir: DirOption) -> None:
    """Remove a token.

    Requests with it are refused from now on, and its event streams end. Jobs created with it stay until they expire;
    a new token of the same name does not own them.
    """
    from cauce.gateway.tokens import FILE, remove_token

    remove_token(dir / FILE, name)


def _print_ready(url: str) -> None:
    # Programs read this line; a person also learns how to end it.
    print_line(f"Cauce is ready on {url}" + (". Stop it with Ctrl-C." if sys.stdout.isatty() else ""))


def _print_detached(folder: Path, url: str) -> None:
    print_line(f"Cauce is ready on {url} (directory {folder}). Stop it with: {command('stop', '--dir', str(folder))}")
