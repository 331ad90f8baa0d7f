"""`cauce submit`: sends files to the service, waits, and leaves the answers as `cauce run` would."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer

from cauce.cli.invocation import command
from cauce.cli.jobs import detaching, exit_code, print_json, service
from cauce.cli.output import answer_table, check_out, console, error_console, fail, format_of, size
from cauce.cli.reject_report import report_rejects, summary_of_file
from cauce.cli.run import SHOWN_ROWS, parameters_of
from cauce.cli.status_bars import StatusBars
from cauce.client import Job, JobStatus, Sent
from cauce.client.frames import frame_of
from cauce.client.settings import COMPRESS, Compress, Settings
from cauce.client.submission import Submission
from cauce.datasets import load
from cauce.errors import JobFailed, TooManyRejects, unknown
from cauce.scan.reject_summary import RejectLimit, RejectSummary
from cauce.wire import REJECTS


@dataclass
class _Progress:
    """How far a submission has come, for the message of an interruption."""

    totals: Mapping[str, int]
    sent: dict[str, int] = field(default_factory=dict)
    """Bytes of each table that the service holds."""
    status: JobStatus | None = None
    """None until a gateway has answered."""
    complete: bool = False
    """Whether all tables are at the service."""

    def created(self, status: JobStatus) -> None:
        self.status = status
        self.complete = status.state == "running"


class Submit:
    def __init__(
        self,
        dataset: str,
        data: Path,
        queries: str,
        gateways: Sequence[str] | None,
        job: str,
        out: Path,
        form: str,
        wait: bool,
        compress: str,
        sentiment: str,
        params: Sequence[str] | None,
        token: str,
        ca: str,
        json: bool,
        max_rejects: str = "",
    ) -> None:
        check_out(out)
        self._limit = RejectLimit.parse(max_rejects)
        self._form = format_of(form)
        self._settings = Settings(_compress(compress))
        chosen = [name.strip() for name in queries.split(",") if name.strip()]
        parameters = parameters_of(load(dataset), sentiment, list(params or []))
        self._submission = Submission(dataset, data, chosen, None, parameters, job or None)
        self._service = service(gateways, token, ca, wait=True)
        self._progress = _Progress(self._submission.bytes)
        self._out = out
        self._wait = wait
        self._summary = RejectSummary()
        self._json = json
        again: list[str] = ["submit", dataset, "--data", str(data), "--job", self._submission.job]
        again += [word for gateway in gateways or () for word in ("--gateway", gateway)]
        again += [word for param in params or () for word in ("--param", param)]
        options = {"--queries": ",".join(chosen), "--sentiment": sentiment, "--ca": ca, "--out": str(out)}
        options |= {"--format": form, "--compress": compress, "--max-rejects": max_rejects}
        usual = {"--out": "answers", "--format": "csv", "--compress": "auto"}
        again += [word for name, value in options.items() if value != usual.get(name, "") for word in (name, value)]
        # Without the token: what stands on a screen is soon in a log.
        self._again = command(*again) + (" (with CAUCE_TOKEN set)" if token else "")
        fetch = ["results", self._submission.job]
        fetch += [word for gateway in gateways or () for word in ("--gateway", gateway)]
        self._fetch_one = command(*fetch) + ("" if len(self._submission.queries) == 1 else " --query NAME")

    def run(self) -> None:
        started = time.monotonic()
        if not self._json:
            error_console().print(f"job {self._submission.job}", soft_wrap=True)
        with detaching(self._standing), StatusBars(self._submission.bytes, enabled=not self._json) as bars:
            status, job = self._send(bars)
            if status is None and self._wait:
                for status in job.watch():
                    bars.show(status)
        if status is None:
            self._left(job)
            return
        if status.state == "done":
            self._progress.status = status
            with detaching(self._standing):
                self._fetch_rejects(job, status)
                self._summary = self._summarised(status)
                self._check_rejects(status)
                self._fetch(job)
        if self._json:
            print_json(status)
        elif status.state == "done":
            self._show(job, status, time.monotonic() - started)
        else:
            fail(JobFailed(f"job {status.job} is {status.state}" + (f": {status.cause}" if status.cause else "")))
        raise typer.Exit(exit_code(status))

    def _send(self, bars: StatusBars) -> tuple[JobStatus | None, Job]:
        """The job, and its status if it has ended meanwhile."""
        job = self._service.job(self._submission.job)
        bars.look(job.status)
        progress = self._progress

        def sent(table: Sent) -> None:
            progress.sent[table.table] = table.bytes
            bars.sent(table)

        try:
            started = self._service.start(self._submission, sent, self._settings, progress.created)
            progress.complete = True
            return None, started
        except JobFailed:
            status = job.status()
            if not status.over:
                raise
            return status, job

    def _standing(self) -> str:
        """What has become of the job when the command is interrupted, and how to go on."""
        job, progress = self._submission.job, self._progress
        if progress.status is None:
            return f"stopped before a gateway answered: no data was sent. To try again: {self._again}"
        if progress.status.over:
            return (
                f"stopped; job {job} is {progress.status.state} at the service, which keeps its answers. To fetch one: "
                f"{self._fetch_one}. To fetch all: {self._again}"
            )
        if progress.complete:
            return (
                f"detached; all files are sent, and job {job} continues at the service. To fetch an answer: "
                f"{self._fetch_one}. To come back: {self._again}"
            )
        done, total = sum(progress.sent.values()), sum(progress.totals.values())
        return (
            f"stopped; {size(done)} of {size(total)} are sent, and job {job} waits at the service for the rest. "
            f"To go on: {self._again}"
        )

    def _left(self, job: Job) -> None:
        if self._json:
            print_json(job.status())
        else:
            console().print(
                f"Uploaded; job {job.id} continues at the service. To fetch an answer: {self._fetch_one}. "
                f"To come back: {self._again}",
                soft_wrap=True,
            )

    def _fetch(self, job: Job) -> None:
        """The answers under the names that `cauce run` gives them, each only when it is whole."""
        self._out.mkdir(parents=True, exist_ok=True)
        for query in self._submission.queries:
            part = self._out / f".{query}.{self._form}.part"
            with part.open("w+b") as into:
                job.save(query, self._form, into)
            part.replace(self._out / f"{query}.{self._form}")

    def _fetch_rejects(self, job: Job, status: JobStatus) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        rejects = self._out / REJECTS
        if status.rejects:
            part = self._out / f".{REJECTS}.part"
            with part.open("w+b") as into:
                job.save_rejects(into)
            part.replace(rejects)
        else:
            rejects.unlink(missing_ok=True)

    def _summarised(self, status: JobStatus) -> RejectSummary:
        sources = self._submission.sources
        files = {file.name: source.spec.name for source in sources for file in source.files}
        rows = {name: table.rows for name, table in status.tables.items()}
        return summary_of_file(self._out / REJECTS, [source.spec for source in sources], files, rows)

    def _check_rejects(self, status: JobStatus) -> None:
        """Raises, and leaves no answers, if more was rejected than the user allows. The job itself is done."""
        if self._limit is None:
            return
        try:
            self._limit.check(self._summary)
        except TooManyRejects as problem:
            for query in self._submission.queries:
                (self._out / f"{query}.{self._form}").unlink(missing_ok=True)
            if self._json:
                print_json(status)
            else:
                report_rejects(self._summary, self._out / REJECTS)
            raise TooManyRejects(
                f"{problem}: no answers were fetched (cauce results {status.job} fetches them nonetheless)"
            ) from None

    def _show(self, job: Job, status: JobStatus, seconds: float) -> None:
        dataset = self._submission.dataset
        for query in self._submission.queries:
            declared = dataset.queries[query]
            head = frame_of(job.head(query, SHOWN_ROWS), declared.columns)
            title = f"{dataset.name}.{query}  {declared.question}"
            console().print(answer_table(title, head, declared.columns, status.answers[query].rows))
            console().print()
        counted = f"{len(self._submission.queries)} {'query' if len(self._submission.queries) == 1 else 'queries'}"
        console().print(
            f"{dataset.name}: {counted} over {status.rows:,} rows, {size(sum(self._submission.bytes.values()))}, "
            f"in {seconds:.1f} s; answers in {self._out}/",
            soft_wrap=True,
        )
        report_rejects(self._summary, self._out / REJECTS)


def _compress(how: str) -> Compress:
    for known in COMPRESS:
        if how == known:
            return known
    raise unknown("compression", how, COMPRESS)
