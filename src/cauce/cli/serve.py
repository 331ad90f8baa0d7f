"""`cauce serve`, `cauce gateway` and `cauce token`: the service, and who may use it."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.output import warn
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.gateway.process import Place
    from cauce.gateway.settings import GatewaySettings

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
    gateways: Annotated[int, typer.Option(help="gateway processes on the port", min=1, max=64)] = 2,
    tokens: TokensOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    dataset: DatasetOption = None,
    allow_files: FilesOption = None,
    limit: LimitOption = None,
    power_safe: PowerOption = False,
) -> None:
    """Serve many clients over HTTP: gateways and workers, until SIGTERM or Ctrl-C."""
    count = cores() if workers is None else workers
    _one_thread_each()
    # Read when the metrics are loaded: gateways that share a port count in one place.
    metrics = dir / "metrics"
    _make_folder(metrics, fresh=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
    from cauce.gateway.process import Place
    from cauce.gateway.supervisor import Supervisor
    from cauce.worker.nursery import make_ready

    place = Place(host, port, tls_cert, tls_key)
    settings = _settings(place, dir, tokens, dataset or [], allow_files or [], limit or [], count, power_safe)
    make_ready()
    code = Supervisor(settings, place, gateways, count, _say_ready).run()
    shutil.rmtree(metrics, ignore_errors=True)
    raise typer.Exit(code)


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
) -> None:
    """Run one gateway, without workers: several of them, and workers elsewhere, may share a folder."""
    _one_thread_each()
    _make_folder(dir)
    from cauce.gateway.process import Place, run_gateway

    place = Place(host, port, tls_cert, tls_key)
    settings = _settings(place, dir, tokens, dataset or [], allow_files or [], limit or [], cores(), power_safe)
    raise typer.Exit(run_gateway(settings, place, place.bind(), _say_ready))


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


def _settings(
    place: Place,
    folder: Path,
    tokens: Path | None,
    datasets: list[Path],
    allowed: list[Path],
    limits: list[str],
    workers: int,
    power_safe: bool,
) -> GatewaySettings:
    from cauce.gateway.jobs import register as register_datasets
    from cauce.gateway.limits import ServiceLimits
    from cauce.gateway.process import needs_token
    from cauce.gateway.settings import GatewaySettings
    from cauce.gateway.tokens import FILE, read_tokens

    place.check()
    for each in allowed:
        if not each.is_dir():
            raise UsageError(f"--allow-files {each} is no folder")
    # Before anything is started: a dataset that cannot be used, a port that is taken, an address that is not ours.
    register_datasets(datasets)
    with place.bind() as bound:
        remote = needs_token(bound)
    file = tokens or folder / FILE
    if not read_tokens(file) and remote:
        warn(f"nobody has a token for {place.host} yet: make one with cauce token create NAME --dir {folder}")
    references = tuple(each.resolve() for each in allowed)
    settings = GatewaySettings(
        folder.resolve(),
        file.resolve(),
        remote,
        ServiceLimits(references=references, lanes=max(workers, 1), partitions=max(workers, 1)),
        tuple(each.resolve() for each in datasets),
        "power" if power_safe else "process",
    )
    return _limited(settings, limits)


def _limited(settings: GatewaySettings, given: list[str]) -> GatewaySettings:
    """With limits given as NAME=NUMBER, those of the jobs and those of a gateway itself."""
    of_jobs, own = ({name: value for name, value in vars(each).items() if type(value) in (int, float)}
                    for each in (settings.limits, settings))  # fmt: skip
    for text in given:
        name, _, value = text.partition("=")
        place = of_jobs if name in of_jobs else own
        try:
            number = type(place[name])(value)
        except (KeyError, ValueError):
            known = ", ".join(f"{name}={value:g}" for name, value in sorted({**of_jobs, **own}.items()))
            raise UsageError(f"--limit {text} is none; limits are numbers, as in {known}") from None
        if not number >= 1:
            raise UsageError(f"--limit {text} is too low: it must be 1 at least")
        place[name] = number
    return replace(settings, limits=replace(settings.limits, **of_jobs), **own)


def cores() -> int:
    return os.cpu_count() or 1


def _one_thread_each() -> None:
    """The processes are the parallelism. Read when the libraries load."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["POLARS_MAX_THREADS"] = "1"


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
