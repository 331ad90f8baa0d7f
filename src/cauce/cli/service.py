"""The commands of the service's client, as they are called. Their bodies are loaded when one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.help import CLIENT
from cauce.cli.options import (
    DataOption,
    DatasetArgument,
    FormatOption,
    JsonOption,
    MaxRejectsOption,
    OutOption,
    ParamOption,
    QueriesOption,
    SentimentOption,
)

Gateways = Annotated[
    list[str] | None,
    typer.Option(
        "--gateway",
        help="address of a gateway; repeatable",
        metavar="URL",
        envvar="CAUCE_GATEWAY",
        show_default="http://127.0.0.1:8080",
    ),
]
Token = Annotated[str, typer.Option(help="access token", metavar="TOKEN", envvar="CAUCE_TOKEN")]
Ca = Annotated[str, typer.Option(help="certificates to trust, for https", metavar="FILE", envvar="CAUCE_CA")]
JobArgument = Annotated[str, typer.Argument(help="id of the job", metavar="JOB")]


def submit(
    dataset: DatasetArgument,
    data: DataOption,
    queries: QueriesOption = "",
    gateway: Gateways = None,
    job: Annotated[
        str, typer.Option(help="id of the job; an existing one is resumed", metavar="JOB", show_default="a new one")
    ] = "",
    out: OutOption = Path("answers"),
    format: FormatOption = "csv",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="wait for the answers, or only upload")] = True,
    compress: Annotated[
        str, typer.Option(help="compression of the upload: auto (not to this machine), zstd or none", metavar="HOW")
    ] = "auto",
    sentiment: SentimentOption = "",
    param: ParamOption = None,
    token: Token = "",
    ca: Ca = "",
    json: JsonOption = False,
    max_rejects: MaxRejectsOption = "",
) -> None:
    """Upload files to a service and fetch the answers.

    Ctrl-C detaches, and the job continues at the service. The same command with the same --job returns to it.
    """
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


def jobs(gateway: Gateways = None, token: Token = "", ca: Ca = "", json: JsonOption = False) -> None:
    """List your jobs."""
    from cauce.cli.jobs import jobs_command, service

    jobs_command(service(gateway, token, ca), json)


def status(
    job: Annotated[
        str, typer.Argument(help="id of a job; without it, the processes of the service are shown", metavar="JOB")
    ] = "",
    dir: Annotated[
        Path | None, typer.Option("--dir", help="directory of the service, instead of --gateway", metavar="DIR")
    ] = None,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: JsonOption = False,
) -> None:
    """Show the progress of a job, or the processes of the service."""
    if not job:
        from cauce.cli.operating import source
        from cauce.cli.operating import status_command as processes_command

        processes_command(source(dir, gateway, token, ca), json)
        return
    from cauce.cli.jobs import service, status_command

    status_command(service(gateway, token, ca), job, json)


def watch(job: JobArgument, gateway: Gateways = None, token: Token = "", ca: Ca = "", json: JsonOption = False) -> None:
    """Follow a job until it ends.

    The exit code is 0 only if the job is done.
    """
    from cauce.cli.jobs import service, watch_command

    watch_command(service(gateway, token, ca, wait=True), job, json)


def results(
    job: JobArgument,
    query: Annotated[
        str, typer.Option(help="the query whose answer to fetch", metavar="QUERY", show_default="the only one")
    ] = "",
    format: FormatOption = "csv",
    out: Annotated[
        Path | None, typer.Option(help="file to write", metavar="FILE", show_default="standard output")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="print rows as JSON lines as they arrive")] = False,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: Annotated[bool, typer.Option("--json", help="same as --format json")] = False,
) -> None:
    """Fetch an answer, as soon as it is complete."""
    from cauce.cli.jobs import results_command, service

    results_command(service(gateway, token, ca), job, query, "json" if json else format, out, follow)


def rejects(
    job: JobArgument,
    out: Annotated[
        Path | None, typer.Option(help="file to write", metavar="FILE", show_default="standard output")
    ] = None,
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: JsonOption = False,
) -> None:
    """Print the rows that could not be read, as CSV.

    Each has its file, line, column and reason. Waits until all files are read.
    """
    from cauce.cli.jobs import rejects_command, service

    rejects_command(service(gateway, token, ca), job, out, json)


def cancel(
    jobs: Annotated[list[str], typer.Argument(help="ids of the jobs", metavar="JOB")],
    gateway: Gateways = None,
    token: Token = "",
    ca: Ca = "",
    json: JsonOption = False,
) -> None:
    """Cancel jobs and release their resources."""
    from cauce.cli.jobs import cancel_command, service

    cancel_command(service(gateway, token, ca), jobs, json)


def why(job: JobArgument, gateway: Gateways = None, token: Token = "", ca: Ca = "", json: JsonOption = False) -> None:
    """Explain in one sentence what a job is waiting for."""
    from cauce.cli.jobs import service, why_command

    why_command(service(gateway, token, ca), job, json)


def register(app: typer.Typer) -> None:
    for command in (submit, jobs, status, watch, results, rejects, cancel, why):
        app.command(rich_help_panel=CLIENT)(command)
