"""The commands of the service's client, as they are called. Their bodies are loaded when one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.options import MaxRejectsOption

Gateways = Annotated[
    list[str] | None,
    typer.Option("--gateway", help="address of a gateway; several may be given", metavar="URL", envvar="CAUCE_GATEWAY"),
]
Token = Annotated[str, typer.Option(help="the token to show", metavar="T", envvar="CAUCE_TOKEN", show_envvar=True)]
Ca = Annotated[str, typer.Option(help="file of certificates to trust, for https", metavar="FILE", envvar="CAUCE_CA")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
JobArgument = Annotated[str, typer.Argument(help="the job's id", metavar="JOB")]
Format = Annotated[str, typer.Option(help="csv, json, parquet or arrow", metavar="FORMAT")]


def submit(
    dataset: Annotated[str, typer.Argument(help="books, movies, flights, coffee, or the path of your own .py file")],
    data: Annotated[Path, typer.Option(help="folder that holds the dataset's files")],
    queries: Annotated[str, typer.Option(help="queries to answer (default: all)", metavar="q1,q3")] = "",
    gateway: Gateways = None,
    job: Annotated[str, typer.Option(help="the job's id; that of a job begun before goes on with it")] = "",
    out: Annotated[Path, typer.Option(help="folder for the answers")] = Path("answers"),
    format: Format = "csv",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="wait for the answers, or only send")] = True,
    compress: Annotated[str, typer.Option(help="auto (not on this machine), zstd or none", metavar="HOW")] = "auto",
    sentiment: Annotated[str, typer.Option(help="scorer of texts: vader or textblob", metavar="NAME")] = "",
    param: Annotated[
        list[str] | None, typer.Option(help="a dataset's own parameter, as name=value", metavar="NAME=VALUE")
    ] = None,
    token: Token = "",
    ca: Ca = "",
    json: Json = False,
    max_rejects: MaxRejectsOption = "",
) -> None:
    """Send a dataset's files to the service and fetch the answers. Ctrl-C detaches; the job goes on."""
    from cauce.cli.submit import Submit

    Submit(
        dataset,
        data,
        queries,
        gateway,
        job,
        out,
        format,
        wait,
        compress,
        sentiment,
        param,
        token,
        ca,
        json,
        max_rejects,
    ).run()


def jobs(gateway: Gateways = None, token: Token = "", ca: Ca = "", json: Json = False) -> None:
    """List your jobs at the service."""
    from cauce.cli.jobs import jobs_command, service

    jobs_command(service(gateway, token, ca), json)


def status(
    job: Annotated[str, typer.Argument(help="a job's id; without one, the processes of the service are shown")] = "",
    dir: Annotated[
        Path | None, typer.Option("--dir", help="folder of the service; without it a gateway is asked")
    ] = None,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Json = False,
) -> None:
    """Show how far a job is, or how the processes of the service are."""
    if not job:
        from cauce.cli.operating import source
        from cauce.cli.operating import status_command as processes_command

        processes_command(source(dir, gateway, token, ca), json)
        return
    from cauce.cli.jobs import service, status_command

    status_command(service(gateway, token, ca), job, json)


def watch(job: JobArgument, gateway: Gateways = None, token: Token = "", ca: Ca = "", json: Json = False) -> None:
    """Follow a job to its end. The exit code is 0 only if it is done."""
    from cauce.cli.jobs import service, watch_command

    watch_command(service(gateway, token, ca), job, json)


def results(
    job: JobArgument,
    query: Annotated[str, typer.Option(help="which answer", metavar="q1")] = "",
    format: Format = "csv",
    out: Annotated[Path | None, typer.Option(help="file to write (default: standard output)", metavar="FILE")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="print rows as they come in, as JSON lines")] = False,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Annotated[bool, typer.Option("--json", help="the same as --format json")] = False,
) -> None:
    """Fetch an answer; waits until it is complete."""
    from cauce.cli.jobs import results_command, service

    results_command(service(gateway, token, ca), job, query, "json" if json else format, out, follow)


def rejects(
    job: JobArgument,
    out: Annotated[Path | None, typer.Option(help="file to write (default: standard output)", metavar="FILE")] = None,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Json = False,
) -> None:
    """Print as CSV what of a job's files could not be read, with file and line; waits until all are read."""
    from cauce.cli.jobs import rejects_command, service

    rejects_command(service(gateway, token, ca), job, out, json)


def cancel(
    jobs: Annotated[list[str], typer.Argument(help="the jobs' ids", metavar="JOB...")],
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Json = False,
) -> None:
    """End jobs and release all they hold."""
    from cauce.cli.jobs import cancel_command, service

    cancel_command(service(gateway, token, ca), jobs, json)


def why(job: JobArgument, gateway: Gateways = None, token: Token = "", ca: Ca = "", json: Json = False) -> None:
    """Say in one sentence what a job waits for."""
    from cauce.cli.jobs import service, why_command

    why_command(service(gateway, token, ca), job, json)


def register(app: typer.Typer) -> None:
    for command in (submit, jobs, status, watch, results, rejects, cancel, why):
        app.command()(command)
