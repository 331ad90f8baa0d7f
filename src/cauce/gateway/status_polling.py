"""Coalesced status polling: concurrent requests for the same job share one read of the fabric."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from cauce.api.jobs import JobStatus
from cauce.gateway.jobs.progress.bottleneck import with_notice
from cauce.gateway.jobs.progress.plan_graph import GraphBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.worker_availability import Workforce

LOOK_S = 0.25
"""The maximal age of a shared result."""

Seen = TypeVar("Seen")


class StatusPolling:
    """Used from one event loop. `stopping` ends every wait."""

    def __init__(self, pool: Pool[Service], stopping: asyncio.Event, workforce: Workforce) -> None:
        self.workforce = workforce
        self._pool = pool
        self._stopping = stopping
        self._looks: dict[tuple[str, ...], asyncio.Task[Any]] = {}

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    async def status(self, owner: str, job: str) -> JobStatus:
        """The status of a job as this gateway has seen it within LOOK_S, without a read barrier."""

        def read(on: Service) -> JobStatus:
            return on.jobs.status(owner, job, consistent=False)

        status = await self._look(("job", owner, job), read, f"{owner}.{job}")
        return await self.workforce.noted(owner, status)

    async def jobs(self, owner: str, *, all_owners: bool) -> list[JobStatus]:
        """The status of all jobs of an owner, or of all owners for the operator, at most LOOK_S old."""

        def read(on: Service) -> list[JobStatus]:
            return on.jobs.list(owner, all_owners=all_owners)

        jobs = await self._look(("jobs", owner, str(all_owners)), read, "list")
        return await self.workforce.all_noted(owner, jobs)

    async def graph(self, owner: str, job: str) -> GraphBody:
        graph = await self._look(("graph", owner, job), lambda on: on.jobs.graph(owner, job), f"{owner}.{job}")
        return msgspec.structs.replace(graph, why=with_notice(await self.status(owner, job), graph.why))

    async def _look(self, key: tuple[str, ...], step: Callable[[Service], Seen], about: str) -> Seen:
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = asyncio.create_task(self._pool.run(step, about))
            look.add_done_callback(lambda _: self._forget_soon(key))
        # A cancelled request must not cancel the read for the others.
        seen: Seen = await asyncio.shield(look)
        return seen

    def _forget_soon(self, key: tuple[str, ...]) -> None:
        look = self._looks[key]
        if not look.cancelled():
            look.exception()
        asyncio.get_running_loop().call_later(LOOK_S, self._looks.pop, key, None)

    async def pause(self, seconds: float) -> None:
        """Sleeps; returns early if the gateway stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def until(self, owner: str, job: str, holds: Callable[[JobStatus], bool], within_s: float) -> bool:
        """Waits until the condition holds. False after the timeout, or if the gateway stops."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        pause_s = 0.02
        while not self.stopped:
            if holds(await self.status(owner, job)):
                return True
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            await self.pause(min(pause_s, left_s))
            pause_s = min(pause_s * 2, LOOK_S)
        return False
