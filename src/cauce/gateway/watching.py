"""How a job stands, for the many that wait for the same thing: they share one look at the fabric."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec

from cauce.errors import CauceError
from cauce.gateway.errors import NoSuchJob
from cauce.gateway.model import ENDED, JobStatus
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service

LOOK_S = 0.25
"""How old a look may be that is good enough for one who waits."""
KEEP_ALIVE_S = 10.0


class Watching:
    """Used from one event loop. `stopping` ends every wait."""

    def __init__(self, pool: Pool[Service], stopping: asyncio.Event) -> None:
        self._pool = pool
        self._stopping = stopping
        self._looks: dict[tuple[str, str], asyncio.Task[JobStatus]] = {}

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    async def status(self, owner: str, job: str) -> JobStatus:
        """How it stood within the last moment."""
        key = (owner, job)
        look = self._looks.get(key)
        if look is None:
            look = asyncio.create_task(self._pool.run(lambda on: on.jobs.status(owner, job), f"{owner}.{job}"))
            self._looks[key] = look
            look.add_done_callback(lambda _: self._forget_soon(key))
        # Whoever goes away while waiting leaves the look to the others.
        return await asyncio.shield(look)

    def _forget_soon(self, key: tuple[str, str]) -> None:
        look = self._looks[key]
        if not look.cancelled():
            look.exception()
        asyncio.get_running_loop().call_later(LOOK_S, self._looks.pop, key, None)

    async def pause(self, seconds: float) -> None:
        """Shorter if the gateway stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def until(self, owner: str, job: str, holds: Callable[[JobStatus], bool], within_s: float) -> bool:
        """Whether it came to hold before the time was over, or the gateway had to stop."""
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

    async def events(self, owner: str, job: str, first: JobStatus) -> AsyncIterator[bytes]:
        """Server-sent events: how the job stands, whenever that has changed, until it has ended."""
        said = msgspec.json.encode(first)
        yield _event(said)
        loop = asyncio.get_running_loop()
        spoke_at = loop.time()
        status = first
        while status.state not in ENDED and not self.stopped:
            await self.pause(LOOK_S)
            try:
                status = await self.status(owner, job)
            except NoSuchJob:
                return
            except CauceError:
                # The fabric does not answer just now; the stream goes on when it does.
                yield b": waiting\n\n"
                await self.pause(1.0)
                continue
            now = msgspec.json.encode(status)
            if now != said:
                said, spoke_at = now, loop.time()
                yield _event(now)
            elif loop.time() - spoke_at >= KEEP_ALIVE_S:
                spoke_at = loop.time()
                yield b": still here\n\n"


def _event(data: bytes) -> bytes:
    return b"event: status\ndata: %s\n\n" % data
