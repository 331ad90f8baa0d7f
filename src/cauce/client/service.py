"""The service as Python sees it: `cauce.connect(...)` gives a Service, which gives Jobs."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec
import polars as pl

from cauce.client.results import Page, frame_of, job_path, load_page, pages, rejects_frame, whole, whole_frame
from cauce.client.sources import Source, sources_of
from cauce.client.status import JobStatus, load_status, load_statuses
from cauce.client.transport import PATIENCE_S, Broken, Transport
from cauce.client.upload import CONNECTIONS, OnProgress, Settings, Upload
from cauce.datasets import BUILT_IN, load
from cauce.errors import JobFailed, Refused, UnknownName, UsageError
from cauce.plan import Dataset
from cauce.plan.outputs import Output
from cauce.wire import Format
from cauce.wire.http import CSV, JSON

JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LEAST_EVENTS_S = 0.2
"""Events are asked for again no sooner than this after the last time."""


class Job:
    """A job at the service. Whatever is not kept here is asked for anew each time."""

    def __init__(self, transport: Transport, job: str, dataset: Dataset | None = None) -> None:
        self._transport = transport
        self._dataset = dataset
        self.id = job

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def status(self) -> JobStatus:
        return load_status(self._transport.request("GET", job_path(self.id)).body)

    def watch(self) -> Iterator[JobStatus]:
        """Its status whenever it changes, until it has ended."""
        while True:
            began = time.monotonic()
            try:
                for event in self._transport.events(job_path(self.id, "events")):
                    status = load_status(event)
                    yield status
                    if status.over:
                        return
            except Broken:
                pass
            status = self.status()
            if status.over:
                yield status
                return
            time.sleep(max(0.0, began + LEAST_EVENTS_S - time.monotonic()))

    def wait(self, on_status: Callable[[JobStatus], None] | None = None) -> JobStatus:
        """Waits for its end. Raises JobFailed, with the cause, for any other end than `done`."""
        status: JobStatus | None = None
        for status in self.watch():
            if on_status is not None:
                on_status(status)
        assert status is not None
        return done(status)

    def results(self, query: str) -> pl.DataFrame:
        """The whole answer with its types; waits until it is complete."""
        self.until_complete(query)
        return whole_frame(self._transport, self._results(query))

    def until_complete(self, query: str) -> None:
        for status in self.watch():
            if status.answers and query not in status.answers:
                raise UnknownName(f"job {self.id} answers no {query}; it answers {', '.join(status.answers)}")
            if query in status.answers and status.answers[query].complete:
                return
            if status.over:
                done(status)

    def pages(self, query: str, limit: int = 10_000) -> Iterator[pl.DataFrame]:
        """The answer's rows as they come in: the first ones may be there long before the last."""
        columns = self._declared(query)
        for page in pages(self._transport, self._results(query), limit=limit):
            if columns is None:
                yield pl.DataFrame(page.rows, schema=page.columns, orient="row", infer_schema_length=None)
            else:
                yield frame_of(page, columns)

    def raw_pages(self, query: str, limit: int = 10_000) -> Iterator[Page]:
        """The same as JSON has them."""
        return pages(self._transport, self._results(query), limit=limit)

    def head(self, query: str, rows: int) -> Page:
        """The first rows that are there."""
        path = f"{self._results(query)}?limit={rows}"
        return load_page(self._transport.request("GET", path, headers={"Accept": JSON}).body)

    def save(self, query: str, form: Format, into: BinaryIO) -> None:
        """The complete answer as the bytes that `cauce run --format` writes."""
        whole(self._transport, self._results(query), form, into)

    def rejects(self) -> pl.DataFrame:
        """What could not be read so far, with file and line, in the order of these."""
        found = rejects_frame(pages(self._transport, job_path(self.id, "rejects"), wait_s=0))
        return found.sort("file", "line", "column", nulls_last=True)

    def save_rejects(self, into: BinaryIO) -> None:
        self._transport.download(job_path(self.id, "rejects"), CSV, into)

    def cancel(self) -> JobStatus:
        """Ends the job and releases all it holds. Of one that has ended it does no harm."""
        return load_status(self._transport.request("DELETE", job_path(self.id)).body)

    def why(self) -> str:
        """What the job waits for, in one sentence."""
        said = self._transport.request("GET", job_path(self.id, "why")).body
        return msgspec.json.decode(said, type=dict[str, str])["why"]

    def _results(self, query: str) -> str:
        return job_path(self.id, "results", query)

    def _declared(self, query: str) -> Mapping[str, Output] | None:
        """The columns of an answer, where the dataset is known here."""
        if self._dataset is None:
            name = self.status().dataset
            self._dataset = load(name) if name in BUILT_IN else None
        if self._dataset is None or query not in self._dataset.queries:
            return None
        return self._dataset.queries[query].columns


def done(status: JobStatus) -> JobStatus:
    if status.state == "done":
        return status
    cause = f": {status.cause}" if status.cause else ""
    raise JobFailed(f"job {status.job} is {status.state}{cause}")


class Service:
    """The gateways of one service. Use it as a context, or close it."""

    def __init__(
        self,
        urls: str | Sequence[str],
        token: str | None = None,
        *,
        ca: str | None = None,
        patience_s: float = PATIENCE_S,
        connections: int = CONNECTIONS,
    ) -> None:
        addresses = [urls] if isinstance(urls, str) else list(urls)
        # One more than upload at a time: a status is asked for meanwhile.
        self._transport = Transport(addresses, token, ca=ca, patience_s=patience_s, connections=connections + 1)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def jobs(self) -> list[JobStatus]:
        return load_statuses(self._transport.request("GET", "/v1/jobs").body)

    def job(self, job: str) -> Job:
        return Job(self._transport, check_job(job))

    def submit(
        self,
        dataset: str,
        data: str | Path | None = None,
        queries: Collection[str] | None = None,
        *,
        job: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
        wait: bool = True,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        **parameters: str,
    ) -> Job:
        """Sends a dataset's files, or frames in their place, and waits for the answers unless told not to.

        Under the id of a job that was broken off, it sends only what is missing.
        """
        prepared = Submission(dataset, data, queries, tables or {}, parameters, job)
        made = self.start(prepared, on_progress, settings)
        if wait:
            made.wait()
        return made

    def start(
        self, submission: Submission, on_progress: OnProgress | None = None, settings: Settings | None = None
    ) -> Job:
        """Sends everything and returns when it is held."""
        job = Job(self._transport, submission.job, submission.dataset)
        body = msgspec.json.encode(submission.request)
        reply = self._transport.request("PUT", job_path(job.id), body, {"Content-Type": JSON})
        status = load_status(reply.body)
        if status.state in ("created", "receiving"):
            fresh = reply.status == 201
            upload = Upload(self._transport, job.id, submission.sources, settings, on_progress, fresh=fresh)
            try:
                upload.run()
            except Refused as refusal:
                # A job that has ended meanwhile has a cause, which says more than that it takes no parts.
                if refusal.code not in ("job-over", "no-such-job"):
                    raise
                done(job.status())
                raise
        elif status.state != "running":
            done(status)
        return job


class Submission:
    """A job to be: its dataset, queries and tables, checked before anything is sent."""

    def __init__(
        self,
        dataset: str,
        data: str | Path | None,
        queries: Collection[str] | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        parameters: Mapping[str, str] | None = None,
        job: str | None = None,
    ) -> None:
        self.dataset = load(dataset)
        self.job = new_job(self.dataset.name) if job is None else check_job(job)
        plan = self.dataset.plan(queries, parameters)
        self.sources: list[Source] = sources_of(plan, None if data is None else Path(data), frames or {})
        self.queries = [query.name for query in self.dataset.choose(queries)]
        self.parameters = dict(parameters or {})
        self._all = not queries

    @property
    def request(self) -> dict[str, object]:
        return {
            "dataset": self.dataset.name,
            "queries": [] if self._all else self.queries,
            "parameters": self.parameters,
        }

    @property
    def bytes(self) -> dict[str, int]:
        """How much there is to send of each table."""
        return {source.spec.name: source.bytes for source in self.sources}


def check_job(job: str) -> str:
    if not JOB_NAME.fullmatch(job):
        raise UsageError(
            f"{job!r} cannot be a job's id: 1 to 64 letters, digits, '.', '_' and '-', the first a letter or digit"
        )
    return job


def new_job(dataset: str) -> str:
    """An id that nobody else has."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", dataset)[:40].lstrip("._-") or "job"
    return f"{stem}-{secrets.token_hex(5)}"
