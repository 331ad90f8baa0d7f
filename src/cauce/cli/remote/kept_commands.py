"""Implements the commands on kept datasets: upload, list, drop, and SQL over them."""

from __future__ import annotations

import datetime
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from cauce.api.formats import REJECTS
from cauce.cli.options import ConnectionOptions, named_values
from cauce.cli.remote.client_commands import UploadOptions
from cauce.cli.remote.job_commands import detaching, service
from cauce.cli.remote.status_bars import StatusBars
from cauce.cli.remote.submit import Delivery, Submit, repeated
from cauce.client import Job, JobStatus
from cauce.client.frames import frame_of
from cauce.client.kept_upload import Keeping
from cauce.client.submission import SqlSubmission
from cauce.errors import CauceError, UsageError
from cauce.job.kept_messages import KeptDataset
from cauce.terminal.answers import printable, show_answer
from cauce.terminal.console import console, print_json, size, warn
from cauce.terminal.invocation import command, same_command
from cauce.terminal.reject_report import report_rejects

if TYPE_CHECKING:
    from cauce.cli.sql import SqlOptions

SHOWN_ROWS = 40
SHOWN_COLUMNS = 12
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def upload_command(options: UploadOptions, connection: ConnectionOptions) -> None:
    keeping = Keeping(
        options.data,
        options.schema,
        named_values("--type", options.type, "orders.paid=decimal"),
        options.declared or None,
        None if not options.keep else seconds_of(options.keep),
        warn,
    )
    bars: list[StatusBars] = []
    # The bars are closed before the note of an interruption is printed.
    with detaching(_continue_upload), ExitStack() as shown:

        def prepared(totals: dict[str, int]) -> None:
            bars.append(shown.enter_context(StatusBars(totals, enabled=not options.json)))

        found = service(connection, wait=True).keep(
            options.name, keeping, lambda sent: bars[0].sent(sent), on_prepared=prepared
        )
    if options.json:
        print_json(found)
        return
    _show(found)
    gateways = repeated("--gateway", connection.gateway)
    console().print(f"Ask with: {command('sql', '--on', found.name, *gateways, 'SELECT …')}", soft_wrap=True)


def _continue_upload() -> str:
    return f"stopped; the service keeps what it has received. Continue with: {same_command()}"


def seconds_of(text: str) -> float:
    """The seconds of a time such as 12h or 7d."""
    found = _TIME.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"invalid time {text!r}; expected a number with s, m, h, d or w, such as 12h or 7d")
    return float(found[1]) * _UNITS[found[2]]


def datasets_command(connection: ConnectionOptions, *, json: bool) -> None:
    found = service(connection).datasets()
    if json:
        print_json(found)
        return
    if not found:
        how = command("upload", "NAME", "--data", "DIR", *repeated("--gateway", connection.gateway))
        console().print(f"the service keeps no datasets for you; upload one with: {how}", soft_wrap=True)
        return
    console().print("\nKept by the service:", style="bold")
    for each in found:
        _show(each)


def _show(kept: KeptDataset) -> None:
    expires = datetime.datetime.fromtimestamp(kept.expires).strftime("%Y-%m-%d %H:%M:%S")
    state = f"version {kept.version}" if kept.version else "not complete"
    line = f"  {state}, {size(kept.bytes)}, kept until {expires}"
    console().print(Text.assemble((kept.name, "bold cyan"), line), soft_wrap=True)
    table = Table(header_style="bold cyan", expand=False)
    for name in ("table", "columns", "parts", "size"):
        table.add_column(name, justify="right" if name in ("parts", "size") else "left", overflow="fold")
    for name, each in kept.tables.items():
        columns = ", ".join(f"{column.name} {column.type}" for column in each.columns[:SHOWN_COLUMNS])
        if len(each.columns) > SHOWN_COLUMNS:
            columns += f" and {len(each.columns) - SHOWN_COLUMNS} more (--json lists all)"
        parts = f"{each.parts}" if each.parts == each.complete else f"{each.complete or 0} of {each.parts}"
        table.add_row(Text(name), Text(columns), parts, size(each.bytes))
    console().print(table)


def drop_command(name: str, connection: ConnectionOptions, *, force: bool) -> None:
    service(connection).drop(name, force=force)
    console().print(f"dropped {name}", soft_wrap=True)


def sql_on_command(options: SqlOptions, text: str, connection: ConnectionOptions) -> None:
    client = service(connection)
    # A job that exists is resumed also if its dataset has been dropped.
    kept = client.kept(options.on) if options.job else client.dataset(options.on)
    submission = SqlSubmission(text, options.on, options.parameters(), options.job or None, _known(kept))
    again = same_command() + ("" if options.job else f" --job {submission.job}")
    if options.out is not None:
        delivery = Delivery(options.out, options.format, options.max_rejects)
        _SqlOn(submission, delivery, connection, again).run()
        return
    with tempfile.TemporaryDirectory(prefix="cauce-sql-") as folder:
        delivery = Delivery(Path(folder), options.format, options.max_rejects)
        _SqlOn(submission, delivery, connection, again, printed=True).run()


def _known(kept: KeptDataset | None) -> KeptDataset | None:
    """The dataset, if it is enough to know the columns of the answers."""
    if kept is None or not kept.declared:
        return kept
    from cauce.datasets import load

    try:
        load(kept.declared)
    except CauceError:
        return None
    return kept


class _SqlOn(Submit):
    """A job of statements over a kept dataset. With `printed`, its answers are only printed."""

    def __init__(
        self,
        submission: SqlSubmission,
        delivery: Delivery,
        connection: ConnectionOptions,
        same_command: str,
        *,
        printed: bool = False,
    ) -> None:
        super().__init__(submission, delivery, connection, same_command)
        self._printed = printed

    def _show(self, job: Job, status: JobStatus, seconds: float) -> None:
        dataset = self._submission.dataset
        for query in status.queries:
            if dataset is None:
                lines = str(job.results(query).head(SHOWN_ROWS)).splitlines()
                console().print(Text("\n".join([query, *map(printable, lines)])), soft_wrap=True)
            else:
                head = frame_of(job.head(query, SHOWN_ROWS), dataset.queries[query].columns)
                show_answer(dataset, query, head, status.answers[query].rows)
        count = len(status.queries)
        read = sum(table.bytes for table in status.tables.values())
        where = "" if self._printed else f"; answers in {self._out}/"
        console().print(
            f"{count} {'statement' if count == 1 else 'statements'} over {status.on} version {status.version}, "
            f"{status.rows:,} rows, {size(read)}, in {seconds:.1f} s{where}",
            soft_wrap=True,
        )
        report_rejects(self._summary, None if self._printed else self._out / REJECTS)
