"""`cauce submit`: uploads files to the service, waits, and writes the same answer files as `cauce run`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import typer

from cauce.api.formats import REJECTS
from cauce.cli.options import ConnectionOptions, QueryOptions
from cauce.cli.remote.client_commands import SubmitOptions, SubmittedFiles
from cauce.cli.remote.job_commands import detaching, exit_code, service
from cauce.cli.remote.status_bars import StatusBars
from cauce.client import Job, JobStatus, Sent
from cauce.client.frames import frame_of
from cauce.client.settings import COMPRESS, Compress, Settings
from cauce.client.submission import SqlSubmission, Submission
from cauce.datasets import load
from cauce.errors import JobFailed, TooManyRejects, UsageError, unknown
from cauce.runner.output_dir import OutputLock, new_file
from cauce.scan.reject_summary import RejectLimit, RejectSummary
from cauce.terminal.answers import SHOWN_ROWS, show_answer, show_summary
from cauce.terminal.console import check_out, console, error_console, fail, format_of, print_json, size
from cauce.terminal.invocation import command, same_command
from cauce.terminal.reject_report import report_rejects, summary_of_file


@dataclass
class _Progress:
    """Progress of a submission, for the message on an interruption."""

    totals: Mapping[str, int]
    sent: dict[str, int] = field(default_factory=dict)
    """Bytes of each table that the service holds."""
    status: JobStatus | None = None
    """None until a gateway has answered."""
    complete: bool = False
    """Whether all tables are uploaded."""

    def created(self, status: JobStatus) -> None:
        self.status = status
        self.complete = status.state == "running"


@dataclass(frozen=True)
class Delivery:
    """Where the answers of a job go, and how."""

    out: Path
    format: str = "csv"
    max_rejects: str = ""
    wait: bool = True
    json: bool = False
    compress: str = "auto"


def submit_command(
    files: SubmittedFiles, queries: QueryOptions, options: SubmitOptions, connection: ConnectionOptions
) -> None:
    if bool(files.data) == bool(options.on):
        raise UsageError("name the files with --data DIR, or a kept dataset with --on NAME")
    delivery = Delivery(files.out, files.format, files.max_rejects, options.wait, options.json, options.compress)
    parameters = queries.parameters(load(queries.dataset))
    submission = Submission(
        queries.dataset, files.data, queries.names, None, parameters, options.job or None, options.on
    )
    Submit(submission, delivery, connection, _same_command(submission.job, files, queries, options, connection)).run()


class Submit:
    """Creates a job, uploads its files if it has any, waits, and fetches the answers."""

    def __init__(
        self,
        submission: Submission | SqlSubmission,
        delivery: Delivery,
        connection: ConnectionOptions,
        same_command: str,
    ) -> None:
        check_out(delivery.out)
        self._limit = RejectLimit.parse(delivery.max_rejects)
        self._form = format_of(delivery.format)
        self._settings = Settings(_compress(delivery.compress))
        self._submission = submission
        self._service = service(connection, wait=True)
        self._progress = _Progress(self._submission.bytes)
        self._out = delivery.out
        self._wait = delivery.wait
        self._summary = RejectSummary()
        self._json = delivery.json
        self._same_command = same_command
        fetch = ["results", self._submission.job, *repeated("--gateway", connection.gateway)]
        self._fetch_one = command(*fetch) + ("" if len(self._submission.queries) == 1 else " --query NAME")

    def run(self) -> None:
        started = time.monotonic()
        if not self._json:
            error_console().print(f"job {self._submission.job}", soft_wrap=True)
        with detaching(self._describe), StatusBars(self._submission.bytes, enabled=not self._json) as bars:
            status, job = self._send(bars)
            if status is None and self._wait:
                for status in job.watch():
                    bars.show(status)
        if status is None:
            self._report_uploaded(job)
            return
        if status.state == "done":
            self._progress.status = status
            with detaching(self._describe), self._writing(status):
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
        """Uploads. Returns the job, and its status if it ended during the upload."""
        job = self._service.job(self._submission.job)
        bars.poll(job.status)
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

    def _describe(self) -> str:
        """Describes the state of the job on an interruption, and how to continue."""
        job, progress = self._submission.job, self._progress
        if progress.status is None:
            return f"stopped before a gateway answered: no data was sent. Retry with: {self._same_command}"
        if progress.status.over:
            return (
                f"stopped; job {job} is {progress.status.state} at the service, which keeps its answers. "
                f"Fetch one with: {self._fetch_one}. Fetch all with: {self._same_command}"
            )
        if progress.complete:
            return (
                f"detached; all files are sent, and job {job} continues at the service. Fetch an answer with: "
                f"{self._fetch_one}. Return to it with: {self._same_command}"
            )
        done, total = sum(progress.sent.values()), sum(progress.totals.values())
        return (
            f"stopped; {size(done)} of {size(total)} are sent, and job {job} waits at the service for the rest. "
            f"Continue with: {self._same_command}"
        )

    def _report_uploaded(self, job: Job) -> None:
        if self._json:
            print_json(job.status())
        else:
            console().print(
                f"Uploaded; job {job.id} continues at the service. Fetch an answer with: {self._fetch_one}. "
                f"Return to it with: {self._same_command}",
                soft_wrap=True,
            )

    def _fetch(self, job: Job) -> None:
        """Saves the answers under the file names of `cauce run`. A file appears only when it is complete."""
        for query in self._queries(job):
            with new_file(self._out / f"{query}.{self._form}") as into:
                job.save(query, self._form, into)

    def _queries(self, job: Job) -> list[str]:
        return self._submission.queries or job.status().queries

    def _fetch_rejects(self, job: Job, status: JobStatus) -> None:
        rejects = self._out / REJECTS
        if status.rejects:
            with new_file(rejects) as into:
                job.save_rejects(into)
        else:
            rejects.unlink(missing_ok=True)

    @contextmanager
    def _writing(self, status: JobStatus) -> Iterator[None]:
        """Locks the output directory. The job is done, so if another command holds the lock, a later call suffices."""
        try:
            lock = OutputLock.of_directory(self._out, same_command())
        except UsageError as problem:
            raise UsageError(f"job {status.job} is done, and its answers were not fetched: {problem}; then run: "
                             f"{self._same_command}") from None  # fmt: skip
        with lock:
            yield

    def _summarised(self, status: JobStatus) -> RejectSummary:
        sources = self._submission.sources
        files = {file.name: source.spec.name for source in sources for file in source.files}
        if status.on and status.rejects:
            files = self._service.kept_files(status.on, list(status.tables))
        rows = {name: table.rows for name, table in status.tables.items()}
        return summary_of_file(self._out / REJECTS, self._submission.specs, files, rows)

    def _check_rejects(self, status: JobStatus) -> None:
        """Raises, and removes the answers, if more rows were rejected than the user allows. The job itself is done."""
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
                f"{problem}: no answers were fetched (cauce results {status.job} still fetches them)"
            ) from None

    def _show(self, job: Job, status: JobStatus, seconds: float) -> None:
        dataset, queries = self._submission.dataset, self._submission.queries
        assert dataset is not None
        for query in queries:
            head = frame_of(job.head(query, SHOWN_ROWS), dataset.queries[query].columns)
            show_answer(dataset, query, head, status.answers[query].rows)
        read = sum(table.bytes for table in status.tables.values())
        sent = read if status.on else sum(self._submission.bytes.values())
        show_summary(dataset, len(queries), status.rows, sent, seconds, self._out)
        report_rejects(self._summary, self._out / REJECTS)


def _same_command(
    job: str, files: SubmittedFiles, queries: QueryOptions, options: SubmitOptions, connection: ConnectionOptions
) -> str:
    """The command that returns to the job. Without the token: terminal output often ends up in logs."""
    read = ["--on", options.on] if options.on else ["--data", str(files.data)]
    words = ["submit", queries.dataset, *read, "--job", job]
    words += repeated("--gateway", connection.gateway)
    words += repeated("--param", queries.param)
    given = {"--queries": ",".join(queries.names), "--sentiment": queries.sentiment, "--ca": connection.ca}
    given |= {"--out": str(files.out), "--format": files.format, "--compress": options.compress}
    given |= {"--max-rejects": files.max_rejects}
    defaults = {"--out": "answers", "--format": "csv", "--compress": "auto"}
    words += [word for name, value in given.items() if value != defaults.get(name, "") for word in (name, value)]
    return command(*words) + (" (with CAUCE_TOKEN set)" if connection.token else "")


def repeated(option: str, values: Sequence[str] | None) -> list[str]:
    return [word for value in values or () for word in (option, value)]


def _compress(how: str) -> Compress:
    for known in COMPRESS:
        if how == known:
            return known
    raise unknown("compression", how, COMPRESS)
