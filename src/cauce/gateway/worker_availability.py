"""Whether any worker runs. The doctors are queried at most once a second, whatever the number of requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from cauce.api.jobs import ENDED, JobStatus, NoWorker
from cauce.api.names import LOCAL
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.status import ClusterStatus, ProcessStatus
from cauce.doctor.query import QueryClient
from cauce.doctor.supervision.no_worker import no_report, no_worker
from cauce.errors import CauceError, UsageError
from cauce.gateway.redaction import rows_for
from cauce.gateway.settings import GatewaySettings

FRESH_S = 1.0
ASK_S = 1.0
WAIT_S = 0.3
"""How long a request waits for the doctors; after that it uses their last answer."""
SILENT_S, SILENT_SHARE = 30.0, 0.01
"""A job is silent after SILENT_S seconds, or SILENT_SHARE of its age: workers report less often on old jobs."""
Silence = Callable[[str, str], Awaitable[float]]
"""Seconds since a worker last reported on an owner's job."""


class Workforce:
    """Queries the doctors for running workers. Used from one event loop."""

    def __init__(self, settings: GatewaySettings, silence: Silence) -> None:
        self._home = ServiceDir(settings.folder)
        self._folder = str(settings.folder)
        self._fabric = "ADDRESS" if settings.fabric else ""
        self._silence = silence
        self._view: ClusterStatus | None = None
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def missing(self, owner: str) -> NoWorker | None:
        """The notice that no worker runs, redacted for this owner. None if workers run or no doctor answers."""
        await self._look()
        view = self._view
        if view is None or not view.running:
            return None
        return self.missing_in(owner, rows_for(owner, view.rows), view.doctor)

    def missing_in(self, owner: str, rows: Sequence[ProcessStatus], doctor: str) -> NoWorker | None:
        """Like `missing`, for a given process table, already redacted for the owner."""
        here = owner == LOCAL
        found = no_worker(rows, doctor, self._folder if here else "DIR")
        return found if found is None or here else msgspec.structs.replace(found, can_start=False)

    async def missing_for(self, owner: str, status: JobStatus) -> NoWorker | None:
        """The notice for a job that has not ended. Without doctors, it is derived from the lack of worker reports."""
        if status.state in ENDED:
            return None
        found = await self.missing(owner)
        if found is not None or status.state != "running" or self._at_work():
            return found
        with suppress(CauceError):
            silent_s = await self._silence(status.owner, status.job)
            if silent_s >= max(SILENT_S, SILENT_SHARE * (time.time() - status.created)):
                return no_report(silent_s, self._folder if owner == LOCAL else "DIR", self._fabric)
        return None

    def _at_work(self) -> bool:
        """Whether the doctors know of a worker, or would start one."""
        view = self._view
        return view is not None and (view.running or any(row.role == "worker" and row.pid for row in view.rows))

    async def noted(self, owner: str, status: JobStatus) -> JobStatus:
        found = await self.missing_for(owner, status)
        return status if found is None else msgspec.structs.replace(status, no_worker=found)

    async def all_noted(self, owner: str, statuses: Sequence[JobStatus]) -> list[JobStatus]:
        return [await self.noted(owner, each) for each in statuses]

    async def _look(self) -> None:
        now = time.monotonic()
        if self._asking is None and now - self._asked_at >= FRESH_S:
            self._asked_at = now
            # Not in the pool: a query may block until its timeout, and the pool's threads are for the fabric.
            self._asking = asyncio.create_task(self._ask())
        if self._asking is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S):
                    await asyncio.shield(self._asking)

    async def _ask(self) -> None:
        try:
            self._view = await asyncio.to_thread(self._view_now)
        finally:
            self._asking = None

    def _view_now(self) -> ClusterStatus | None:
        try:
            cluster = self._home.find_cluster()
        except UsageError:
            return None
        if cluster is None or not cluster.doctors:
            return None
        with QueryClient(cluster) as client:
            return client.status(ASK_S)
