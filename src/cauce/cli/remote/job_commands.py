"""Implements the commands on jobs: each sends requests to the service and prints the responses."""

from __future__ import annotations

import datetime
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from cauce.cli.options import ConnectionOptions
from cauce.cli.remote.status_bars import StatusBars
from cauce.client import JobStatus, Service
from cauce.client.settings import ANSWER_S, ASK_ANSWER_S, ASK_PATIENCE_S, PATIENCE_S, ConnectionSettings
from cauce.errors import UsageError
from cauce.process.signals import sigterm_as_interrupt
from cauce.runner.output_dir import OutputLock, new_file
from cauce.terminal.console import console, format_of, print_json, size, warn
from cauce.terminal.invocation import same_command

DEFAULT_GATEWAY = "http://127.0.0.1:8080"
COLOURS = {"done": "green", "failed": "red", "cancelled": "yellow", "expired": "yellow", "damaged": "red"}


def service(connection: ConnectionOptions, *, wait: bool = False) -> Service:
    """Returns a client with short timeouts for queries or, with `wait`, one that retries for as long as a service may
    be down."""
    gateways = connection.gateway or [DEFAULT_GATEWAY]
    found = Service(list(gateways), connection.token or None, ca=connection.ca or None)
    if wait:
        return waiting(found)
    asking = replace(found.settings, patience_s=ASK_PATIENCE_S, answer_s=ASK_ANSWER_S, on_connection=None)
    return found.using(asking)


def waiting(service: Service) -> Service:
    """Returns the same client with the long timeouts of a command that waits for a job."""
    return service.using(with_long_timeouts(service.settings))


def with_long_timeouts(settings: ConnectionSettings) -> ConnectionSettings:
    return replace(settings, patience_s=PATIENCE_S, answer_s=ANSWER_S, on_connection=warn)


def jobs_command(service: Service, json: bool, *, all_owners: bool = False) -> None:
    found = service.jobs(all_owners=all_owners)
    if json:
        print_json(found)
        return
    if not found:
        console().print("no jobs")
        return
    # Ids are copied and pasted: a long line is better than a truncated one.
    console().print(_jobs_table(found, console().width, all_owners=all_owners), soft_wrap=True, crop=False)


def _jobs_table(found: Sequence[JobStatus], width: int, *, all_owners: bool) -> Table:
    """One row per job. Drops columns that do not fit the width, the least important ones first."""
    columns = {name: [cell(each) for each in found] for name, cell in JOB_COLUMNS.items()}
    if not all_owners:
        del columns["client"]
    for name in JOBS_DROPPED:
        if _table_width(columns) > width:
            del columns[name]
    table = Table(header_style="bold cyan", expand=False)
    for name, cells in columns.items():
        right = name in ("received", "rows")
        table.add_column(name, justify="right" if right else "left", no_wrap=True, min_width=_widest(name, cells))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def _table_width(columns: Mapping[str, Sequence[Text]]) -> int:
    """Includes a border and two spaces of padding per column."""
    return sum(_widest(name, cells) + 3 for name, cells in columns.items()) + 1


def _widest(name: str, cells: Sequence[Text]) -> int:
    return max(len(name), *(cell.cell_len for cell in cells))


def status_command(service: Service, job: str, json: bool) -> None:
    show_status(service.job(job).status(), json)


def show_status(status: JobStatus, json: bool) -> None:
    if json:
        print_json(status)
        return
    console().print(Text.assemble((status.job, "bold"), f"  {_source(status)}  ", _state(status)), soft_wrap=True)
    if status.cause:
        console().print(Text(f"  {status.cause}"), soft_wrap=True)
    if status.no_worker is not None:
        console().print(Text(f"  {status.no_worker.text}", style="bold red"), soft_wrap=True)
    if status.created:
        console().print(
            f"  created {_when(status.created)}" + _then("ended", status.ended) + _then("kept until", status.expires),
            soft_wrap=True,
        )
    for name, table in status.tables.items():
        of = "" if table.complete is None else f" of {table.complete}"
        rejects = f", {table.rejects:,} rejects" if table.rejects else ""
        console().print(
            f"  table {table.title or name}: {table.parts}{of} parts received ({size(table.bytes)}), "
            f"{table.parts_read} read, {table.rows:,} rows{rejects}",
            soft_wrap=True,
        )
    for query, answer in status.answers.items():
        state = "complete" if answer.complete else "not complete"
        console().print(f"  {query}: {answer.rows:,} rows, {state}", soft_wrap=True)


def watch_command(service: Service, job: str, json: bool) -> None:
    status: JobStatus | None = None

    def describe() -> str:
        if status is None:
            return f"stopped before a gateway answered; nothing was changed. Retry with: {same_command()}"
        return _detached(job)

    with detaching(describe), StatusBars(enabled=not json) as bars:
        for status in service.job(job).watch():
            if json:
                print_json(status)
            else:
                bars.show(status)
                if not bars.drawn:
                    console().print(_line(status), soft_wrap=True)
    assert status is not None
    if bars.drawn:
        show_status(status, json)
    raise typer.Exit(exit_code(status))


def results_command(service: Service, job: str, query: str, form: str, out: Path | None, follow: bool) -> None:
    checked = format_of(form)
    status = service.job(job).status()
    query = query or _only_query(status)
    # The service responded, so later requests may wait and retry with long timeouts.
    found = waiting(service).job(job)
    if follow:
        for page in found.raw_pages(query):
            for row in page.rows:
                sys.stdout.write(_row(page.columns, row))
            sys.stdout.flush()
        return
    if checked in ("parquet", "arrow") and out is None and sys.stdout.isatty():
        raise UsageError(f"{checked} is binary and not printed to a terminal; give --out FILE, or redirect the output")
    with detaching(lambda: _detached(job)):
        found.until_complete(query)
    with _opened(out) as into:
        found.save(query, checked, into)


def _row(columns: list[str], row: list[object]) -> str:
    return msgspec.json.Encoder(decimal_format="number").encode(dict(zip(columns, row, strict=True))).decode() + "\n"


def _only_query(status: JobStatus) -> str:
    answers = list(status.answers)
    if not answers:
        raise UsageError(f"job {status.job} is {status.state} and has no answers")
    if len(answers) > 1:
        raise UsageError(f"job {status.job} has several answers; select one with --query: {', '.join(answers)}")
    return answers[0]


def rejects_command(service: Service, job: str, out: Path | None, json: bool) -> None:
    if json:
        print_json(service.job(job).rejects().to_dicts())
        return
    service.job(job).status()
    found = waiting(service).job(job)
    with detaching(lambda: _detached(job)):
        found.wait()
    with _opened(out) as into:
        found.save_rejects(into)


@contextmanager
def _opened(out: Path | None) -> Iterator[BinaryIO]:
    """Yields a file that replaces `out` only when complete, or a buffer that is then copied to standard output."""
    if out is None:
        with tempfile.TemporaryFile() as spool:
            yield spool
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    if out.is_dir():
        raise UsageError(f"{out} is a directory; --out expects a file here")
    if out.exists() and not out.is_file():
        raise UsageError(f"{out} is not a regular file; omit --out, and redirect standard output there")
    with OutputLock.of_file(out, same_command()), new_file(out) as into:
        yield into


def cancel_command(service: Service, jobs: Sequence[str], json: bool) -> None:
    ended = [service.job(job).cancel() for job in jobs]
    if json:
        print_json(ended)
        return
    for status in ended:
        console().print(Text.assemble((status.job, "bold"), "  ", _state(status)), soft_wrap=True)


def why_command(service: Service, job: str, json: bool) -> None:
    sentence = service.job(job).why()
    if json:
        print_json({"job": job, "why": sentence})
    else:
        console().print(Text(sentence), soft_wrap=True)


def exit_code(status: JobStatus) -> int:
    return 0 if status.state == "done" else 1


def _detached(job: str) -> str:
    return f"detached; job {job} continues at the service. Return to it with: {same_command()}"


@contextmanager
def detaching(describe: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end only this command, never the job. `describe` is called then: it returns the state of the
    job and how to continue."""

    try:
        with sigterm_as_interrupt():
            yield
    except KeyboardInterrupt:
        warn(describe())
        raise SystemExit(130) from None


def _complete(status: JobStatus) -> str:
    return f"{sum(answer.complete for answer in status.answers.values())} of {len(status.answers)}"


def _state(status: JobStatus) -> Text:
    return Text(status.state, style=COLOURS.get(status.state, "cyan"))


def _source(status: JobStatus) -> str:
    """The dataset of a job, and the kept data that it reads."""
    return f"{status.dataset} on {status.on} version {status.version}" if status.on else status.dataset


def _when(at: float | None) -> str:
    return "" if not at else datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def _then(what: str, at: float | None) -> str:
    return "" if at is None else f", {what} {_when(at)}"


def _line(status: JobStatus) -> str:
    """The progress of a job in one line."""
    parts = sum(table.parts for table in status.tables.values())
    read = sum(table.parts_read for table in status.tables.values())
    cause = f": {status.cause}" if status.cause else ""
    missing = f"; {status.no_worker.text}" if status.no_worker is not None else ""
    return (
        f"{status.state}{cause}; {parts} parts received, {read} read, {status.rows:,} rows, {_complete(status)} answers"
        f"{missing}"
    )


JOB_COLUMNS: dict[str, Callable[[JobStatus], Text]] = {
    "job": lambda job: Text(job.job),
    "client": lambda job: Text(job.owner),
    "dataset": lambda job: Text(_source(job)),
    "state": _state,
    "created": lambda job: Text(_when(job.created)),
    "received": lambda job: Text(size(sum(table.bytes for table in job.tables.values()))),
    "rows": lambda job: Text(f"{job.rows:,}"),
    "answers": lambda job: Text(_complete(job)),
}
JOBS_DROPPED = ("received", "created", "rows", "dataset", "answers")
"""The columns that a narrow terminal omits, in this order."""
