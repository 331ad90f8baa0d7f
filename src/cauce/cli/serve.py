"""`cauce serve`, `cauce gateway` and `cauce token`: the service, and who may use it."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.help import OPERATE, SERVICE, CommandLine
from cauce.cli.invocation import command
from cauce.cli.options import SERVICE_ATTEMPTS, AttemptsOption, FabricOption, JsonOption, PowerOption
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.cli.bodies import Launching

DirOption = Annotated[Path, typer.Option("--dir", help="directory of the service: jobs, tokens, logs", metavar="DIR")]
HostOption = Annotated[
    str, typer.Option(help="address to listen on; other than loopback requires tokens", metavar="ADDRESS")
]
PortOption = Annotated[int, typer.Option(help="port to listen on (0: any free one)", min=0, max=65535, metavar="PORT")]
TokensOption = Annotated[
    Path | None, typer.Option(help="file with the tokens", metavar="FILE", show_default="tokens.json in --dir")
]
RequireTokenOption = Annotated[
    bool, typer.Option("--require-token", help="require a token from clients on this machine too")
]
CertOption = Annotated[Path | None, typer.Option(help="certificate for TLS (PEM)", metavar="FILE", show_default=False)]
KeyOption = Annotated[
    Path | None, typer.Option(help="key of the certificate (PEM)", metavar="FILE", show_default=False)
]
DatasetOption = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help=".py file that declares a dataset of your own; repeatable", metavar="FILE"),
]
FilesOption = Annotated[
    list[Path] | None,
    typer.Option("--allow-files", help="directory whose files clients may refer to; repeatable", metavar="DIR"),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", help="limit of the service, such as jobs=50; repeatable; an unknown name lists all", metavar="NAME=N"
    ),
]
TimingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--timing",
        help="timeout of the doctors, such as hung=60; repeatable; an unknown name lists all",
        metavar="NAME=SECONDS",
    ),
]
NameOption = Annotated[
    str, typer.Option(help="name of the process, such as worker-1@b", metavar="NAME", show_default=False)
]
IncarnationOption = Annotated[str, typer.Option(hidden=True, help="set by a doctor", metavar="ID")]
RestartsOption = Annotated[int, typer.Option(hidden=True, help="set by a doctor", metavar="N")]
DoctorsOption = Annotated[str, typer.Option(help="addresses of all doctors", metavar="HOST:PORT,…", show_default=False)]
KeyFileOption = Annotated[
    Path | None, typer.Option(help="file with the cluster's key", metavar="FILE", show_default=False)
]

TokenArgument = Annotated[str, typer.Argument(help="name of the token's owner", metavar="NAME")]

token_app = CommandLine("Create, list and remove access tokens.")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=SERVICE)(serve)
    app.command(rich_help_panel=SERVICE)(gateway)
    app.add_typer(token_app, name="token", rich_help_panel=OPERATE)


def serve(
    dir: DirOption,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    workers: Annotated[
        int | None,
        typer.Option(help="worker processes", min=0, max=256, metavar="N", show_default="as before, else the cores"),
    ] = None,
    gateways: Annotated[
        int | None,
        typer.Option(help="gateway processes", min=1, max=64, metavar="N", show_default="as before, else 2"),
    ] = None,
    doctors: Annotated[
        int | None,
        typer.Option(help="doctor processes", min=1, max=9, metavar="N", show_default="as before, else 3"),
    ] = None,
    tokens: TokensOption = None,
    require_token: RequireTokenOption = False,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    power_safe: PowerOption = False,
    fabric: FabricOption = "",
    detach: Annotated[
        bool, typer.Option("--detach", help="return when the service is ready; cauce stop ends it")
    ] = False,
    watch: Annotated[
        str | None, typer.Option(help="star: the leader watches all; ring: each its neighbour", metavar="STAR|RING")
    ] = None,
    attempts: AttemptsOption = SERVICE_ATTEMPTS,
    timing: TimingOption = None,
    image: Annotated[
        str,
        typer.Option(help="run workers and gateways in containers of this image", metavar="IMAGE", show_default=False),
    ] = "",
    docker: Annotated[
        str, typer.Option(help="address of the Docker daemon", metavar="ADDRESS")
    ] = "unix:///var/run/docker.sock",
    cluster: Annotated[
        Path | None,
        typer.Option(help="cluster.toml with process counts and timeouts", metavar="FILE", show_default=False),
    ] = None,
    end_with: Annotated[int, typer.Option(hidden=True, help="stop when this process ends", metavar="PID")] = 0,
) -> None:
    """Start a service: gateways, workers and doctors, over HTTP.

    Doctors restart processes that fail. Ctrl-C or SIGTERM ends the service.
    """
    from cauce.cli.bodies import METRICS, prepare

    prepare(dir.resolve())
    _make_folder(dir / METRICS, fresh=True)
    from cauce.cli.serving import Serving
    from cauce.cli.starting import Wanted, in_boxes, with_file

    given = launching_of(
        host, port, tokens, require_token, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric, attempts
    )
    given = in_boxes(given, image, docker)
    wanted = with_file(Wanted(workers, gateways, doctors, watch, timing or [], end_with), cluster)
    wanted.check()
    ready = partial(_say_detached, dir) if detach else _say_ready
    code = Serving(dir, given, wanted, ready).run(detach=detach)
    if code or not detach:
        _print(f"Stopped the service in {dir}.")
    raise typer.Exit(code)


def gateway(
    dir: DirOption,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    tokens: TokensOption = None,
    require_token: RequireTokenOption = False,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    power_safe: PowerOption = False,
    fabric: FabricOption = "",
    name: NameOption = "",
    incarnation: IncarnationOption = "",
    restarts: RestartsOption = 0,
    doctors: DoctorsOption = "",
    key_file: KeyFileOption = None,
) -> None:
    """Run a single gateway, without workers.

    Several gateways and workers may share a directory or a fabric.
    """
    from cauce.cli.alone import Calling, gateway_alone

    calling = Calling("gateway", dir, name, incarnation, restarts, doctors, key_file)
    given = launching_of(
        host, port, tokens, require_token, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric
    )
    raise typer.Exit(gateway_alone(calling, given, _say_ready))


def launching_of(
    host: str,
    port: int,
    tokens: Path | None,
    require_token: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    dataset: list[Path] | None,
    allow_files: list[Path] | None,
    limit: list[str] | None,
    power_safe: bool,
    fabric: str,
    attempts: int = SERVICE_ATTEMPTS,
) -> Launching:
    from cauce.cli.bodies import Launching

    return Launching(
        host,
        port,
        require_token=require_token,
        tls_cert=str(tls_cert or ""),
        tls_key=str(tls_key or ""),
        tokens=str(tokens or ""),
        datasets=[str(each) for each in dataset or []],
        allow_files=[str(each) for each in allow_files or []],
        limits=limit or [],
        power_safe=power_safe,
        fabric=fabric,
        lanes=cores(),
        attempts=attempts,
    )


@token_app.command("create")
def token_create(name: TokenArgument, dir: DirOption) -> None:
    """Create a token and print it.

    Only its hash is stored: it cannot be shown again.
    """
    from cauce.gateway.tokens import FILE, create_token

    sys.stdout.write(create_token(dir / FILE, name) + "\n")


@token_app.command("list")
def token_list(dir: DirOption, json: JsonOption = False) -> None:
    """List the names and creation times of the tokens."""
    import msgspec

    from cauce.gateway.tokens import FILE, read_tokens

    entries = read_tokens(dir / FILE)
    if json:
        listed = [{"name": name, "created": entry.created} for name, entry in entries.items()]
        sys.stdout.write(msgspec.json.encode(listed).decode() + "\n")
        return
    if not entries:
        from cauce.cli.output import warn

        warn(f"there are no tokens in {dir}; create one with: {command('token', 'create', 'NAME', '--dir', str(dir))}")
    for name, entry in entries.items():
        sys.stdout.write(f"{name}\t{datetime.fromtimestamp(entry.created, UTC):%Y-%m-%d %H:%M:%S} UTC\n")


@token_app.command("remove")
def token_remove(name: TokenArgument, dir: DirOption) -> None:
    """Remove a token.

    Requests with it are refused from now on. Jobs created with it stay until they expire.
    """
    from cauce.gateway.tokens import FILE, remove_token

    remove_token(dir / FILE, name)


def cores() -> int:
    return os.cpu_count() or 1


def _make_folder(folder: Path, *, fresh: bool = False) -> None:
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"cannot create the directory {folder}: a file of that name exists") from None


def _say_ready(url: str) -> None:
    _print(f"Cauce is ready on {url}")


def _say_detached(folder: Path, url: str) -> None:
    _print(f"Cauce is ready on {url} (directory {folder}). Stop it with: {command('stop', '--dir', str(folder))}")


def _print(line: str) -> None:
    """There at once, for programs that read along."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
