"""A job at the service, as Python sees it. What needs a frame loads Polars when it is asked for one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from cauce.client.connection_problems import unreadable
from cauce.client.results import PAGE_ROWS, Page, job_path, load_page, pages, whole
from cauce.client.status import JobStatus, load_status
from cauce.client.transport import Broken, Transport
from cauce.errors import JobFailed, UnknownName, UsageError
from cauce.wire import FORMATS, Format
from cauce.wire.http import CSV, JSON

if TYPE_CHECKING:
    import polars as pl

    from cauce.plan import Dataset
    from cauce.plan.outputs import Output
    from cauce.worker.answers import Answers

JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LEAST_EVENTS_S = 0.2
"""Events are asked for again no sooner than this after the last time."""


class Why(msgspec.Struct, frozen=True):
    why: str


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
        from cauce.client.frames import whole_frame

        self.until_complete(query)
        return whole_frame(self._transport, self._results(query))

    def answers(self) -> Answers:
        """All answers as `cauce.run` returns them, with the rejects; waits until the job is done."""
        from cauce.worker.answers import Answers

        status = self.wait()
        declared = self._known_dataset()
        questions = {name: query.question for name, query in declared.queries.items()} if declared else {}
        frames = {query: self.results(query) for query in status.answers}
        return Answers(frames, self.rejects(), {query: questions.get(query, "") for query in frames})

    def until_complete(self, query: str) -> None:
        for status in self.watch():
            if status.answers and query not in status.answers:
                raise UnknownName(f"job {self.id} answers no {query}; it answers {', '.join(status.answers)}")
            if query in status.answers and status.answers[query].complete:
                return
            if status.over:
                done(status)

    def pages(self, query: str, limit: int = PAGE_ROWS) -> Iterator[pl.DataFrame]:
        """The answer's rows as they come in: the first ones may be there long before the last."""
        import polars as pl

        from cauce.client.frames import frame_of

        columns = self._declared(query)
        for page in pages(self._transport, self._results(query), limit=limit):
            if columns is None:
                yield pl.DataFrame(page.rows, schema=page.columns, orient="row", infer_schema_length=None)
            else:
                yield frame_of(page, columns)

    def raw_pages(self, query: str, limit: int = PAGE_ROWS) -> Iterator[Page]:
        """The same as JSON has them."""
        return pages(self._transport, self._results(query), limit=limit)

    def head(self, query: str, rows: int) -> Page:
        """The first rows that are there."""
        path = f"{self._results(query)}?limit={rows}"
        return load_page(self._transport.request("GET", path, headers={"Accept": JSON}).body)

    def save(self, query: str, form: Format, into: BinaryIO) -> None:
        """The complete answer as the bytes that `cauce run --format` writes."""
        if form not in FORMATS:
            raise UsageError(f"unknown format {form!r}; expected one of {', '.join(FORMATS)}")
        whole(self._transport, self._results(query), form, into)

    def rejects(self) -> pl.DataFrame:
        """What could not be read so far, with file and line, in the order of these."""
        from cauce.client.frames import rejects_frame

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
        with unreadable():
            return msgspec.json.decode(said, type=Why).why

    def _results(self, query: str) -> str:
        return job_path(self.id, "results", query)

    def _declared(self, query: str) -> Mapping[str, Output] | None:
        """The columns of an answer, where the dataset is known here."""
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


def check_job(job: str) -> str:
    if not JOB_NAME.fullmatch(job):
        raise UsageError(
            f"{job!r} cannot be a job's id: 1 to 64 letters, digits, '.', '_' and '-', the first a letter or digit"
        )
    return job
