"""Declares the client commands of the service. Imports an implementation only when its command runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cauce.cli.help import CLIENT
from cauce.cli.options import (
    ConnectionOptions,
    FormatOption,
    JsonOption,
    MaxRejectsOption,
    OutOption,
    QueryOptions,
    SchemaOption,
    SourceOptions,
    TypeOption,
)

JobArgument = Annotated[str, typer.Argument(help="id of the job", metavar="JOB")]
FileOption = Annotated[Path | None, typer.Option(help="file to write", metavar="FILE", show_default="standard output")]


@dataclass(frozen=True, kw_only=True)
class SubmittedFiles:
    """Input files, if they are uploaded, and answer files."""

    data: Annotated[
        Path | None, typer.Option(help="directory with the dataset's files", metavar="DIR", show_default=False)
    ] = None
    out: OutOption = Path("answers")
    format: FormatOption = "csv"
    max_rejects: MaxRejectsOption = ""


@dataclass(frozen=True, kw_only=True)
class SubmitOptions:
    """Options of `cauce submit` alone."""

    on: Annotated[
        str, typer.Option("--on", help="kept dataset to read, instead of --data", metavar="NAME", show_default=False)
    ] = ""
    job: Annotated[
        str, typer.Option(help="id of the job; an existing one is resumed", metavar="JOB", show_default="a new one")
    ] = ""
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="wait for the answers, or only upload")] = True
    compress: Annotated[
        str, typer.Option(help="compression of the upload: auto (not to this machine), zstd or none", metavar="HOW")
    ] = "auto"
    json: JsonOption = False


def submit(files: SubmittedFiles, queries: QueryOptions, options: SubmitOptions, connection: ConnectionOptions) -> None:
    """Upload files to a service and fetch the answers.

    With --on, the queries read a dataset that the service keeps, and nothing is uploaded.

    Ctrl-C detaches, and the job continues at the service. The same command with the same --job returns to it.
    """
    from cauce.cli.remote.submit import submit_command

    submit_command(files, queries, options, connection)


@dataclass(frozen=True, kw_only=True)
class UploadOptions:
    """A dataset to keep in the service."""

    name: Annotated[str, typer.Argument(help="name of the dataset in the service", metavar="NAME")]
    data: Annotated[Path, typer.Option(help="directory with the files: orders.csv is table orders", metavar="DIR")]
    schema: SchemaOption = None
    type: TypeOption = None
    declared: Annotated[
        str, typer.Option(help="declared dataset whose tables these are", metavar="DATASET", show_default=False)
    ] = ""
    keep: Annotated[
        str,
        typer.Option(
            help="how long to keep it after the last upload, such as 12h or 7d", metavar="TIME", show_default="7d"
        ),
    ] = ""
    json: JsonOption = False


def upload(options: UploadOptions, connection: ConnectionOptions) -> None:
    """Keep the tables of a directory in a service.

    `cauce sql --on NAME` answers questions over them. Again with new files, it adds them as a new version. Files that
    the service holds are not sent again. The same command resumes an upload that was interrupted.
    """
    from cauce.cli.remote.kept_commands import upload_command

    upload_command(options, connection)


def drop(
    name: Annotated[str, typer.Argument(help="name of the dataset in the service", metavar="NAME")],
    connection: ConnectionOptions,
    force: Annotated[bool, typer.Option("--force", help="also if jobs read it: these fail")] = False,
) -> None:
    """Remove a kept dataset from a service."""
    from cauce.cli.remote.kept_commands import drop_command

    drop_command(name, connection, force=force)


def jobs(
    connection: ConnectionOptions,
    all_owners: Annotated[
        bool,
        typer.Option(
            "--all-owners",
            help="also jobs of other clients; on the service's machine, without a token",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List your jobs."""
    from cauce.cli.remote.job_commands import jobs_command, service

    jobs_command(service(connection), json, all_owners=all_owners)


def status(
    connection: SourceOptions,
    job: Annotated[
        str, typer.Argument(help="id of a job; without it, the processes of the service are shown", metavar="JOB")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Show the progress of a job, or the processes of the service."""
    if not job:
        from cauce.cli.remote.process_commands import source
        from cauce.cli.remote.process_commands import status_command as processes_command

        processes_command(source(connection), json)
        return
    from cauce.cli.remote.job_commands import service, status_command

    status_command(service(connection), job, json)


def watch(job: JobArgument, connection: ConnectionOptions, json: JsonOption = False) -> None:
    """Follow a job until it ends.

    The exit code is 0 only if the job is done.
    """
    from cauce.cli.remote.job_commands import service, watch_command

    watch_command(service(connection, wait=True), job, json)


def results(
    job: JobArgument,
    connection: ConnectionOptions,
    query: Annotated[
        str, typer.Option(help="the query whose answer to fetch", metavar="QUERY", show_default="the only one")
    ] = "",
    format: FormatOption = "csv",
    out: FileOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="print rows as JSON lines as they arrive")] = False,
    json: Annotated[bool, typer.Option("--json", help="same as --format json")] = False,
) -> None:
    """Fetch an answer, as soon as it is complete."""
    from cauce.cli.remote.job_commands import results_command, service

    results_command(service(connection), job, query, "json" if json else format, out, follow)


def rejects(job: JobArgument, connection: ConnectionOptions, out: FileOption = None, json: JsonOption = False) -> None:
    """Print the rows that could not be read, as CSV.

    Each has its file, line, column and reason. Waits until all files are read.
    """
    from cauce.cli.remote.job_commands import rejects_command, service

    rejects_command(service(connection), job, out, json)


def cancel(
    jobs: Annotated[list[str], typer.Argument(help="ids of the jobs", metavar="JOB")],
    connection: ConnectionOptions,
    json: JsonOption = False,
) -> None:
    """Cancel jobs and release their resources."""
    from cauce.cli.remote.job_commands import cancel_command, service

    cancel_command(service(connection), jobs, json)


def why(job: JobArgument, connection: ConnectionOptions, json: JsonOption = False) -> None:
    """Explain in one sentence what a job is waiting for."""
    from cauce.cli.remote.job_commands import service, why_command

    why_command(service(connection), job, json)


def register(app: typer.Typer) -> None:
    for command in (submit, upload, drop, jobs, status, watch, results, rejects, cancel, why):
        app.command(rich_help_panel=CLIENT)(command)
