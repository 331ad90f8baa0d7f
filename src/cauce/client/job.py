"""Python API of a job at the service. Polars is loaded only by methods that return frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from cauce.api.formats import FORMATS, Format
from cauce.api.http import CSV, JSON
from cauce.api.jobs import JobStatus, WhyBody
from cauce.client.connection_problems import unreadable
from cauce.client.results import PAGE_ROWS, Page, job_path, load_page, pages, whole
from cauce.client.status import load_status
from cauce.client.transport import Broken, Transport
from cauce.errors import JobFailed, UnknownName, UsageError

if TYPE_CHECKING:
    import polars as pl

    from cauce.plan import Dataset
    from cauce.plan.outputs import Output
    from cauce.runner.answers import Answers

LEAST_EVENTS_S = 0.2
"""Minimum interval between two subscriptions to events."""


class Job:
    """A job at the service. Holds no state: every call sends a new request."""

    def __init__(self, transport: Transport, job: str, dataset: Dataset | None = None) -> None:
        self._transport = transport
        self._dataset = dataset
        self.id = job

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def status(self) -> JobStatus:
        """Returns the state of the job, of its tables and of its answers."""
        return load_status(self._transport.request("GET", job_path(self.id)).body)

    def watch(self) -> Iterator[JobStatus]:
        """Yields the status on every change, until the job has ended."""
        while True:
            started = time.monotonic()
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
            time.sleep(max(0.0, started + LEAST_EVENTS_S - time.monotonic()))

    def wait(self, on_status: Callable[[JobStatus], None] | None = None) -> JobStatus:
        """Waits until the job has ended. Raises JobFailed, with the cause, unless it is `done`."""
        status: JobStatus | None = None
        for status in self.watch():
            if on_status is not None:
                on_status(status)
        assert status is not None
        return done(status)

    def results(self, query: str) -> pl.DataFrame:
        """Returns the complete answer with its declared types. Waits until it is complete."""
        from cauce.client.frames import whole_frame

        self.until_complete(query)
        return whole_frame(self._transport, self._results(query))

    def answers(self) -> Answers:
        """Returns all answers and the rejects, as `cauce.run` does. Waits until the job is done."""
        from cauce.runner.answers import Answers

        status = self.wait()
        declared = self._known_dataset()
        questions = {name: query.question for name, query in declared.queries.items()} if declared else {}
        frames = {query: self.results(query) for query in status.answers}
        return Answers(frames, self.rejects(), {query: questions.get(query, "") for query in frames})

    def until_complete(self, query: str) -> None:
        """Waits until the answer to a query is complete. Raises JobFailed if the job ends before."""
        for status in self.watch():
            if status.answers and query not in status.answers:
                raise UnknownName(f"job {self.id} has no query {query}; expected one of {', '.join(status.answers)}")
            if query in status.answers and status.answers[query].complete:
                return
            if status.over:
                done(status)

    def pages(self, query: str, limit: int = PAGE_ROWS) -> Iterator[pl.DataFrame]:
        """Yields the rows of the answer as they become available, before the answer is complete."""
        import polars as pl

        from cauce.client.frames import frame_of

        columns = self._declared(query)
        for page in pages(self._transport, self._results(query), limit=limit):
            if columns is None:
                yield pl.DataFrame(page.rows, schema=page.columns, orient="row", infer_schema_length=None)
            else:
                yield frame_of(page, columns)

    def raw_pages(self, query: str, limit: int = PAGE_ROWS) -> Iterator[Page]:
        """Yields the same rows as decoded JSON."""
        return pages(self._transport, self._results(query), limit=limit)

    def head(self, query: str, rows: int) -> Page:
        """Returns the first rows that are available."""
        path = f"{self._results(query)}?limit={rows}"
        return load_page(self._transport.request("GET", path, headers={"Accept": JSON}).body)

    def save(self, query: str, form: Format, into: BinaryIO) -> None:
        """Writes the complete answer, byte for byte as `cauce run --format` does."""
        if form not in FORMATS:
            raise UsageError(f"unknown format {form!r}; expected one of {', '.join(FORMATS)}")
        whole(self._transport, self._results(query), form, into)

    def rejects(self) -> pl.DataFrame:
        """Returns the rejects so far, sorted by file and line."""
        from cauce.client.frames import rejects_frame

        found = rejects_frame(pages(self._transport, job_path(self.id, "rejects"), wait_s=0))
        return found.sort("file", "line", "column", nulls_last=True)

    def rejects_head(self, rows: int) -> Page:
        """Returns the first rejects that are available, unsorted."""
        path = f"{job_path(self.id, 'rejects')}?limit={rows}"
        return load_page(self._transport.request("GET", path, headers={"Accept": JSON}).body)

    def save_rejects(self, into: BinaryIO) -> None:
        """Writes the rejects as CSV, as in `rejects.csv` of a run."""
        self._transport.download(job_path(self.id, "rejects"), CSV, into)

    def cancel(self) -> JobStatus:
        """Ends the job and releases its resources. Idempotent, also for a job that has ended."""
        return load_status(self._transport.request("DELETE", job_path(self.id)).body)

    def why(self) -> str:
        """Explains in one sentence what the job is waiting for."""
        body = self._transport.request("GET", job_path(self.id, "why")).body
        with unreadable():
            return msgspec.json.decode(body, type=WhyBody).why

    def _results(self, query: str) -> str:
        return job_path(self.id, "results", query)

    def _declared(self, query: str) -> Mapping[str, Output] | None:
        """Returns the columns of an answer, if the dataset is available locally."""
        dataset = self._known_dataset()
        if dataset is None or query not in dataset.queries:
            return None
        return dataset.queries[query].columns

    def _known_dataset(self) -> Dataset | None:
        from cauce.datasets import BUILT_IN, load

        if self._dataset is None:
            name = self.status().dataset
            self._dataset = load(name) if name in BUILT_IN else None
        return self._dataset


def done(status: JobStatus) -> JobStatus:
    if status.state == "done":
        return status
    cause = f": {status.cause}" if status.cause else ""
    raise JobFailed(f"job {status.job} is {status.state}{cause}")
