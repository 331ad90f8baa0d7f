"""Background tasks of a gateway: everything that is written without a request of a client. They run while the gateway
runs, whether clients ask or not, and an error never ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from structlog.typing import FilteringBoundLogger

from cauce.errors import CauceError
from cauce.gateway.metrics import Metrics
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service

SWEEP_S = 1.0

Pause = Callable[[float], Awaitable[None]]


class Background:
    """`pause` sleeps, and returns early when the gateway stops."""

    def __init__(self, pool: Pool[Service], metrics: Metrics, log: FilteringBoundLogger, pause: Pause) -> None:
        self._pool = pool
        self._metrics = metrics
        self._log = log
        self._pause = pause
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: set[str] = set()
        """Jobs whose outcome is to be recorded now."""
        self._found = asyncio.Event()

    def end_found(self, name: str) -> None:
        """Asks for the outcome of a job to be recorded before the next sweep. Called in the threads of the pool by
        requests, which never record it themselves."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._add, name)

    def _add(self, name: str) -> None:
        self._over.add(name)
        self._found.set()

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.gather(self._sweep(), self._record_ends())

    async def _sweep(self) -> None:
        while True:
            await self._logged("sweep", self._sweep_once())
            await self._pause(SWEEP_S)

    async def _sweep_once(self) -> None:
        # Open files of deleted jobs occupy disk space until each thread lists the jobs again.
        await self._pool.run_everywhere(lambda on: on.fabric.jobs())
        await self._pool.run(lambda on: on.sweep(), "sweep")
        self._metrics.show(await self._pool.run(lambda on: on.jobs.figures(), "sweep"))

    async def _record_ends(self) -> None:
        while True:
            await self._found.wait()
            self._found.clear()
            while self._over:
                await self._logged("recording of an outcome", self._record_end(self._over.pop()))

    async def _record_end(self, name: str) -> None:
        await self._pool.run(lambda on: on.jobs.record_end(name), name)

    async def _logged(self, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except CauceError as error:
            self._log.warning(f"{what} failed", code=error.code, cause=str(error))
        except Exception:  # noqa: BLE001  (a gateway that stops sweeping would silently fill the disk)
            self._log.exception(f"{what} failed")
