"""Python API of the service: `cauce.connect(...)` returns a Service, which returns Jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from cauce.api.http import JSON
from cauce.api.jobs import JobStatus
from cauce.client.job import Job, check_job, done
from cauce.client.results import job_path
from cauce.client.settings import (
    ANSWER_S,
    CONNECTIONS,
    PATIENCE_S,
    ConnectionSettings,
    OnConnection,
    OnProgress,
    Settings,
    log_connection,
)
from cauce.client.status import load_status, load_statuses
from cauce.client.transport import Transport
from cauce.errors import Refused

if TYPE_CHECKING:
    import polars as pl

    from cauce.client.submission import Submission
    from cauce.plan import Dataset


class Service:
    """A client of one service with one or several gateways. Use it as a context manager, or close it."""

    def __init__(
        self,
        urls: str | Sequence[str],
        token: str | None = None,
        *,
        ca: str | None = None,
        patience_s: float = PATIENCE_S,
        connections: int = CONNECTIONS,
        on_connection: OnConnection | None = log_connection,
    ) -> None:
        # One more than the parallel uploads, for status requests.
        settings = ConnectionSettings(token, ca, patience_s, ANSWER_S, connections + 1, on_connection)
        self._transport = Transport([urls] if isinstance(urls, str) else list(urls), settings)

    @property
    def settings(self) -> ConnectionSettings:
        return self._transport.settings

    @property
    def reached(self) -> bool:
        """Whether any gateway has ever responded."""
        return self._transport.reached

    def using(self, settings: ConnectionSettings) -> Service:
        """Returns a client of the same gateways with other connection settings."""
        other = copy(self)
        other._transport = Transport([gateway.address for gateway in self._transport.gateways], settings)
        return other

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def jobs(self) -> list[JobStatus]:
        """Lists all jobs of this client, oldest first."""
        page = load_statuses(self._transport.request("GET", "/v1/jobs").body)
        found = page.jobs
        while page.next is not None:
            page = load_statuses(self._transport.request("GET", f"/v1/jobs?cursor={quote(page.next)}").body)
            found += page.jobs
        return found

    def job(self, job: str) -> Job:
        return Job(self._transport, check_job(job))

    def submit(
        self,
        dataset: str | Path | Dataset,
        data: str | Path | None = None,
        queries: str | Collection[str] | None = None,
        *,
        job: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
        wait: bool = True,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        **parameters: str,
    ) -> Job:
        """Uploads a dataset's files, or frames in their place, and waits for the answers unless `wait` is False.

        If `job` is the id of an existing job, uploads only the missing parts. Raises InputDiffers if that job holds
        other data.
        """
        from cauce.client.submission import Submission

        prepared = Submission(dataset, data, queries, tables or {}, parameters, job)
        made = self.start(prepared, on_progress, settings)
        if wait:
            made.wait()
        return made

    def start(
        self,
        submission: Submission,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        on_created: Callable[[JobStatus], None] | None = None,
    ) -> Job:
        """Uploads all tables and returns when the service holds them. For an existing job, compares the files with the
        parts it holds and sends only missing ones. `on_created` is called when the job exists, before any upload."""
        from cauce.client.upload import Upload

        job = Job(self._transport, submission.job, submission.dataset)
        body = msgspec.json.encode(submission.request)
        reply = self._transport.request("PUT", job_path(job.id), body, {"Content-Type": JSON})
        status = load_status(reply.body)
        if on_created is not None:
            on_created(status)
        if status.over:
            done(status)
        fresh = reply.status == 201
        upload = Upload(self._transport, job.id, submission.sources, settings, on_progress, fresh=fresh)
        try:
            upload.run()
        except Refused as refusal:
            # If the job ended during the upload, its cause is more useful than this refusal.
            if refusal.code not in ("job-over", "no-such-job"):
                raise
            done(job.status())
            raise
        return job
