"""The client of the service for programs with an event loop. Every call runs the blocking client in a thread, so that
the loop never waits; a cancelled call stops at its next message from the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from cauce.api.formats import Format
from cauce.api.jobs import JobStatus
from cauce.client.job import Job, done
from cauce.client.results import PAGE_ROWS
from cauce.client.service import Service

if TYPE_CHECKING:
    import polars as pl

    from cauce.job.kept_messages import KeptDataset
    from cauce.plan import Dataset
    from cauce.runner.answers import Answers

T = TypeVar("T")


async def _each(items: Iterator[T]) -> AsyncIterator[T]:
    end = object()
    while True:
        item = await asyncio.to_thread(next, items, end)
        if item is end:
            return
        yield item  # type: ignore[misc]


class AsyncJob:
    """A job at the service. Its methods are those of `Job`, to be awaited."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.id = job.id

    def __repr__(self) -> str:
        return f"AsyncJob({self.id!r})"

    async def status(self) -> JobStatus:
        """Returns the state of the job, of its tables and of its answers."""
        return await asyncio.to_thread(self._job.status)

    def watch(self) -> AsyncIterator[JobStatus]:
        """Yields the status on every change, until the job has ended."""
        return _each(self._job.watch())

    async def wait(self, on_status: Callable[[JobStatus], None] | None = None) -> JobStatus:
        """Waits until the job has ended. Raises JobFailed, with the cause, unless it is `done`."""
        status: JobStatus | None = None
        async for status in self.watch():
            if on_status is not None:
                on_status(status)
        assert status is not None
        return done(status)

    async def results(self, query: str) -> pl.DataFrame:
        """Returns the complete answer with its declared types. Waits until it is complete."""
        return await asyncio.to_thread(self._job.results, query)

    async def answers(self) -> Answers:
        """Returns all answers and the rejects, as `cauce.run` does. Waits until the job is done."""
        await self.wait()
        return await asyncio.to_thread(self._job.answers)

    def pages(self, query: str, limit: int = PAGE_ROWS) -> AsyncIterator[pl.DataFrame]:
        """Yields the rows of the answer as they become available, before the answer is complete."""
        return _each(self._job.pages(query, limit))

    async def save(self, query: str, form: Format, into: BinaryIO) -> None:
        """Writes the complete answer, byte for byte as `cauce run --format` does."""
        await asyncio.to_thread(self._job.save, query, form, into)

    async def rejects(self) -> pl.DataFrame:
        """Returns the rejects so far, sorted by file and line."""
        return await asyncio.to_thread(self._job.rejects)

    async def cancel(self) -> JobStatus:
        """Ends the job and releases its resources. Idempotent, also for a job that has ended."""
        return await asyncio.to_thread(self._job.cancel)

    async def why(self) -> str:
        """Explains in one sentence what the job is waiting for."""
        return await asyncio.to_thread(self._job.why)


class AsyncService:
    """A client of one service, for programs with an event loop. Use it as an asynchronous context manager.

    >>> async with AsyncService("http://127.0.0.1:8080") as service:
    ...     job = await service.submit("books", "data/")
    ...     frame = await job.results("q3")
    """

    def __init__(self, urls: str | Sequence[str], token: str | None = None, *, ca: str | None = None) -> None:
        self._service = Service(urls, token, ca=ca)

    async def __aenter__(self) -> AsyncService:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes its connections. Jobs at the service continue."""
        await asyncio.to_thread(self._service.close)

    async def jobs(self, *, all_owners: bool = False) -> list[JobStatus]:
        """Lists all jobs of this client, oldest first. With `all_owners`, the operator gets those of all clients."""
        return await asyncio.to_thread(self._service.jobs, all_owners=all_owners)

    def job(self, job: str) -> AsyncJob:
        """Returns the job of this id. Sends no request."""
        return AsyncJob(self._service.job(job))

    async def submit(
        self,
        dataset: str | Path | Dataset,
        data: str | Path | None = None,
        queries: str | Collection[str] | None = None,
        *,
        job: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
        on: str = "",
        wait: bool = True,
        **parameters: str,
    ) -> AsyncJob:
        """Uploads a dataset's files, or frames in their place, and waits for the answers unless `wait` is False. With
        `on`, the queries read the kept dataset of this name, and nothing is uploaded."""

        def start() -> Job:
            return self._service.submit(
                dataset, data, queries, job=job, tables=tables, on=on, wait=False, on_progress=None, settings=None,
                **parameters,
            )  # fmt: skip

        made = AsyncJob(await asyncio.to_thread(start))
        if wait:
            await made.wait()
        return made

    async def sql(self, text: str, on: str, *, job: str | None = None, **parameters: str) -> Answers:
        """Answers SQL statements over a kept dataset, as `cauce.sql` does."""
        return await asyncio.to_thread(self._service.sql, text, on, job=job, **parameters)

    async def upload(
        self,
        name: str,
        data: str | Path,
        *,
        schema: str | Path | None = None,
        types: Mapping[str, str] | None = None,
        keep_s: float | None = None,
    ) -> KeptDataset:
        """Keeps the tables of a folder in the service under a name, as `Service.upload` does."""
        return await asyncio.to_thread(self._service.upload, name, data, schema=schema, types=types, keep_s=keep_s)

    async def dataset(self, name: str) -> KeptDataset:
        """The kept dataset of this name. Raises Refused, with a suggestion of a similar name, if there is none."""
        return await asyncio.to_thread(self._service.dataset, name)

    async def datasets(self) -> list[KeptDataset]:
        """Lists the kept datasets of this client, oldest first."""
        return await asyncio.to_thread(self._service.datasets)

    async def drop(self, name: str, *, force: bool = False) -> None:
        """Removes a kept dataset. Refused while jobs read it, unless it is forced: then these jobs fail."""
        await asyncio.to_thread(self._service.drop, name, force=force)
