"""Python API of the service: `cauce.connect(...)` returns a Service, which returns Jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from cauce.api.http import JSON
from cauce.api.jobs import JobsBody, JobStatus
from cauce.api.names import check_job
from cauce.client.job import Job, done
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
from cauce.client.status import dataset_path, load_all_kept, load_kept, load_status, load_statuses
from cauce.client.transport import Transport
from cauce.errors import Refused

if TYPE_CHECKING:
    import polars as pl

    from cauce.client.kept_upload import Keeping
    from cauce.client.submission import SqlSubmission, Submission
    from cauce.job.kept_messages import KeptDataset
    from cauce.plan import Dataset
    from cauce.runner.answers import Answers


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
        """The settings of its connections: token, timeouts, limits."""
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
        """Closes its connections. Jobs at the service continue."""
        self._transport.close()

    def jobs(self, *, all_owners: bool = False) -> list[JobStatus]:
        """Lists all jobs of this client, oldest first. With `all_owners`, the operator (a client on the machine of the
        service, without a token) gets those of all clients; for other clients it changes nothing."""
        wanted = {"all_owners": "true"} if all_owners else {}
        page = self._jobs_page(wanted)
        found = page.jobs
        while page.next is not None:
            page = self._jobs_page({**wanted, "cursor": page.next})
            found += page.jobs
        return found

    def _jobs_page(self, query: Mapping[str, str]) -> JobsBody:
        return load_statuses(
            self._transport.request("GET", "/v1/jobs" + (f"?{urlencode(query)}" if query else "")).body
        )

    def job(self, job: str) -> Job:
        """Returns the job of this id. Sends no request: a job that does not exist is reported by its first method."""
        return Job(self._transport, check_job(job))

    def submit(
        self,
        dataset: str | Path | Dataset,
        data: str | Path | None = None,
        queries: str | Collection[str] | None = None,
        *,
        job: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
        on: str = "",
        wait: bool = True,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        **parameters: str,
    ) -> Job:
        """Uploads a dataset's files, or frames in their place, and waits for the answers unless `wait` is False.

        With `on`, the queries read the kept dataset of this name, and nothing is uploaded.

        If `job` is the id of an existing job, uploads only the missing parts. Raises InputDiffers if that job holds
        other data.
        """
        from cauce.client.submission import Submission

        prepared = Submission(dataset, data, queries, tables or {}, parameters, job, on)
        made = self.start(prepared, on_progress, settings)
        if wait:
            made.wait()
        return made

    def start(
        self,
        submission: Submission | SqlSubmission,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        on_created: Callable[[JobStatus], None] | None = None,
    ) -> Job:
        """Uploads all tables and returns when the service holds them. For an existing job, compares the files with the
        parts it holds and sends only missing ones. `on_created` is called when the job exists, before any upload."""
        from cauce.client.upload import Target, Upload

        job = Job(self._transport, submission.job, submission.dataset)
        method, path, body = submission.creation
        reply = self._transport.request(method, path, body, {"Content-Type": JSON})
        status = load_status(reply.body)
        if on_created is not None:
            on_created(status)
        if status.over:
            done(status)
        fresh = reply.status == 201
        target = Target("job", job.id)
        upload = Upload(self._transport, target, submission.sources, settings, on_progress, fresh=fresh)
        try:
            upload.run()
        except Refused as refusal:
            # If the job ended during the upload, its cause is more useful than this refusal.
            if refusal.code not in ("job-over", "no-such-job"):
                raise
            done(job.status())
            raise
        return job

    def upload(
        self,
        name: str,
        data: str | Path,
        *,
        schema: str | Path | None = None,
        types: Mapping[str, str] | None = None,
        declared: str | Path | Dataset | None = None,
        keep_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> KeptDataset:
        """Keeps the tables of a folder in the service under a name, for as many questions as one likes. Again with new
        files, it adds them as a new version; files that the service holds are not sent again. Resumes an upload that
        was interrupted.

        The types of columns are inferred; `types` sets some, `schema` is a file as `cauce schema` prints it. `declared`
        is a declared dataset whose tables these are. The dataset is removed `keep_s` seconds after its last upload.

        >>> service.upload("shop", "data/", types={"orders.paid": "decimal"}).version
        1
        """
        from cauce.client.kept_upload import Keeping
        from cauce.runner.library import folder_of

        given = None if schema is None else Path(schema)
        return self.keep(name, Keeping(folder_of(data), given, types or {}, declared, keep_s), on_progress)

    def keep(
        self,
        name: str,
        keeping: Keeping,
        on_progress: OnProgress | None = None,
        settings: Settings | None = None,
        on_prepared: Callable[[dict[str, int]], None] | None = None,
    ) -> KeptDataset:
        """As `upload`. `on_prepared` is called with the bytes of each table before anything is sent."""
        from cauce.client.kept_upload import KeptUpload, prepare
        from cauce.client.upload import Target

        prepared = prepare(name, keeping, self.kept(name))
        body = msgspec.json.encode(prepared.request)
        self._transport.request("PUT", dataset_path(name), body, {"Content-Type": JSON})
        if on_prepared is not None:
            on_prepared({source.spec.shown: source.bytes for source in prepared.sources})
        KeptUpload(self._transport, Target("dataset", name), prepared.sources, settings, on_progress).run()
        return self.dataset(name)

    def dataset(self, name: str) -> KeptDataset:
        """The kept dataset of this name. Raises Refused, with a suggestion of a similar name, if there is none.

        >>> service.dataset("shop").version
        1
        """
        return load_kept(self._transport.request("GET", dataset_path(name)).body)

    def kept(self, name: str) -> KeptDataset | None:
        """The same; None if there is none."""
        try:
            return self.dataset(name)
        except Refused as refusal:
            if refusal.code != "no-such-dataset":
                raise
            return None

    def kept_files(self, name: str, tables: Sequence[str]) -> dict[str, str]:
        """The table of each file of a kept dataset."""
        from cauce.client.upload import Target, held_of

        target = Target("dataset", name)
        held = {table: held_of(self._transport, target, table).parts.values() for table in tables}
        return {receipt.file: table for table, parts in held.items() for receipt in parts}

    def datasets(self) -> list[KeptDataset]:
        """Lists the kept datasets of this client, oldest first.

        >>> [each.name for each in service.datasets()]
        ['shop']
        """
        return load_all_kept(self._transport.request("GET", "/v1/datasets").body)

    def sql(self, text: str, on: str, *, job: str | None = None, **parameters: str) -> Answers:
        """Answers SQL statements over a kept dataset. Returns a dictionary of Polars frames by the name of the
        statement, as `cauce.sql` does. All statements are one job over the current version of the dataset.

        >>> service.sql("SELECT customer, sum(paid) FROM orders GROUP BY 1", on="shop")["q1"]
        """
        from cauce.client.submission import SqlSubmission

        return self.start(SqlSubmission(text, on, parameters, job)).answers()

    def drop(self, name: str, *, force: bool = False) -> None:
        """Removes a kept dataset. Refused while jobs read it, unless it is forced: then these jobs fail.

        >>> service.drop("shop")
        """
        existed = self.kept(name) is not None
        try:
            self._transport.request("DELETE", dataset_path(name) + ("?force=true" if force else ""))
        except Refused as refusal:
            # A repeated request may find that the first one dropped it, though its response was lost.
            if not (existed and refusal.code == "no-such-dataset"):
                raise
