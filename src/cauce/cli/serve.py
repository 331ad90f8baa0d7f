"""`cauce serve`, `cauce gateway` and `cauce token`: the service, and who may use it."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.options import SERVICE_ATTEMPTS, FabricOption
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.cli.bodies import Launching

DirOption = Annotated[Path, typer.Option("--dir", help="folder that holds the service's jobs and tokens")]
HostOption = Annotated[str, typer.Option(help="address to listen on; beyond this machine a token is needed")]
PortOption = Annotated[int, typer.Option(help="port to listen on (0: any free one)", min=0, max=65535)]
TokensOption = Annotated[
    Path | None, typer.Option(help="file of tokens (default: tokens.json in --dir)", show_default=False)
]
CertOption = Annotated[Path | None, typer.Option(help="certificate for TLS, in PEM format", show_default=False)]
KeyOption = Annotated[Path | None, typer.Option(help="its key, in PEM format", show_default=False)]
DatasetOption = Annotated[
    list[Path] | None, typer.Option("--dataset", help="a .py file that declares a dataset of your own; repeatable")
]
FilesOption = Annotated[
    list[Path] | None, typer.Option("--allow-files", help="folder of which clients may name files; repeatable")
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option("--limit", help="a limit of the service, such as jobs=50; repeatable, a wrong one lists all"),
]
PowerOption = Annotated[bool, typer.Option("--power-safe", help="survive a loss of power too, not only kills")]

AttemptsOption = Annotated[int, typer.Option(help="deaths of workers on one part before its job is given up", min=1)]
TimingOption = Annotated[
    list[str] | None,
    typer.Option("--timing", help="a time of the doctors, such as hung=60; repeatable, a wrong one lists all"),
]
NameOption = Annotated[str, typer.Option(help="its name in the cluster, such as worker-1@b", show_default=False)]
IncarnationOption = Annotated[str, typer.Option(hidden=True)]
RestartsOption = Annotated[int, typer.Option(hidden=True)]
DoctorsOption = Annotated[
    str, typer.Option(help="addresses of the doctors that watch it", metavar="HOST:PORT,…", show_default=False)
]
KeyFileOption = Annotated[Path | None, typer.Option(help="file with the cluster's key", show_default=False)]

token_app = typer.Typer(help="Who may use the service.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(gateway)
    app.add_typer(token_app, name="token")


def serve(
    dir: DirOption,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    workers: Annotated[
        int | None, typer.Option(help="worker processes (default: the cores)", min=0, max=256, show_default=False)
    ] = None,
    gateways: Annotated[
        int | None, typer.Option(help="gateway processes on the port (default: 2)", min=1, max=64, show_default=False)
    ] = None,
    doctors: Annotated[
        int | None, typer.Option(help="doctor processes (default: 3)", min=1, max=9, show_default=False)
    ] = None,
    tokens: TokensOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    power_safe: PowerOption = False,
    fabric: FabricOption = "",
    detach: Annotated[bool, typer.Option("--detach", help="return when all is ready; cauce stop ends it")] = False,
    watch: Annotated[
        str | None, typer.Option(help="star: the leader watches all; ring: each its neighbour", metavar="HOW")
    ] = None,
    attempts: AttemptsOption = SERVICE_ATTEMPTS,
    timing: TimingOption = None,
    image: Annotated[
        str, typer.Option(help="workers and gateways live in containers of this image", show_default=False)
    ] = "",
    docker: Annotated[str, typer.Option(help="where Docker listens")] = "unix:///var/run/docker.sock",
    cluster: Annotated[
        Path | None, typer.Option(help="file cluster.toml with numbers of processes and times", show_default=False)
    ] = None,
    end_with: Annotated[int, typer.Option(hidden=True, help="a process that the service is not to outlive")] = 0,
) -> None:
    """Serve many clients over HTTP: gateways, workers, and doctors that bring back whatever dies. Ends at SIGTERM."""
    from cauce.cli.bodies import METRICS, prepare

    prepare(dir.resolve())
    _make_folder(dir / METRICS, fresh=True)
    from cauce.cli.serving import Serving
    from cauce.cli.starting import Wanted, in_boxes, with_file

    given = launching_of(
        host, port, tokens, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric, attempts
    )
    given = in_boxes(given, image, docker)
    wanted = with_file(Wanted(workers, gateways, doctors, watch, timing or [], end_with), cluster)
    wanted.check()
    raise typer.Exit(Serving(dir, given, wanted, _say_ready).run(detach=detach))


def gateway(
    dir: DirOption,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    tokens: TokensOption = None,
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
    """Run one gateway, without workers: several of them, and workers elsewhere, may share a folder."""
    from cauce.cli.alone import Calling, gateway_alone

    calling = Calling("gateway", dir, name, incarnation, restarts, doctors, key_file)
    given = launching_of(host, port, tokens, tls_cert, tls_key, dataset, allow_files, limit, power_safe, fabric)
    raise typer.Exit(gateway_alone(calling, given, _say_ready))


def launching_of(
    host: str,
    port: int,
    tokens: Path | None,
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
def token_create(name: Annotated[str, typer.Argument(help="whose token it is")], dir: DirOption) -> None:
    """Make a token and print it: it is not kept, and not shown again."""
    from cauce.gateway.tokens import FILE, create_token

    sys.stdout.write(create_token(dir / FILE, name) + "\n")


@token_app.command("list")
def token_list(dir: DirOption, json: Annotated[bool, typer.Option("--json", help="for machines")] = False) -> None:
    """Show the names of those who have a token."""
    import msgspec

    from cauce.gateway.tokens import FILE, read_tokens

    entries = read_tokens(dir / FILE)
    if json:
        listed = [{"name": name, "created": entry.created} for name, entry in entries.items()]
        sys.stdout.write(msgspec.json.encode(listed).decode() + "\n")
        return
    for name, entry in entries.items():
        sys.stdout.write(f"{name}\t{datetime.fromtimestamp(entry.created, UTC):%Y-%m-%d %H:%M:%S} UTC\n")


@token_app.command("remove")
def token_remove(name: Annotated[str, typer.Argument(help="whose token it is")], dir: DirOption) -> None:
    """Remove a token: from now on it opens nothing. The jobs sent with it stay until they expire."""
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
        raise UsageError(f"{folder} cannot be a folder: a file is in the way") from None


def _say_ready(url: str) -> None:
    sys.stdout.write(f"Cauce is ready on {url}\n")
    sys.stdout.flush()
