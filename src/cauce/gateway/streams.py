"""Server-sent events: how jobs stand, whenever that has changed. Whoever reads slowly misses what was in between, and
never the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from cauce.errors import CauceError
from cauce.gateway.errors import JobOver, NoSuchJob
from cauce.gateway.model import ENDED, JobStatus
from cauce.gateway.watching import LOOK_S, Watching

KEEP_ALIVE_S = 10.0
STILL_HERE = b": still here\n\n"
WAITING = b": waiting\n\n"
LIST_S = 0.5
GRAPH_S = 1.0
LAST_WORDS_S = 1.5
"""How long after the end of a job its workers may still tell of their last work."""


def event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class Changes:
    """What was said last, and when: the same is not said again."""

    def __init__(self, now: float) -> None:
        self._said: dict[str, bytes] = {}
        self._spoke_at = now

    def event_of(self, name: str, data: bytes, now: float) -> bytes | None:
        """The status as an event, if it is another than the last one under this name."""
        if self._said.get(name) == data:
            return None
        self._said[name] = data
        self._spoke_at = now
        return event("status", data)

    def drop_all_but(self, names: set[str]) -> list[str]:
        gone = [name for name in self._said if name not in names]
        for name in gone:
            del self._said[name]
        return gone

    def silent(self, now: float) -> bool:
        """Whether it is time to say that there is nothing to say."""
        if now - self._spoke_at < KEEP_ALIVE_S:
            return False
        self._spoke_at = now
        return True


async def job_events(
    watching: Watching, owner: str, job: str, first: JobStatus, *, graph: bool
) -> AsyncIterator[bytes]:
    """How a job stands until it has ended; with `graph` also its plan at work, about once a second."""
    now = asyncio.get_running_loop().time
    changes, graph_at = Changes(now()), now()
    status = first
    yield changes.event_of("status", msgspec.json.encode(status), now()) or b""
    if graph:
        yield await _graph(watching, owner, job)
    while status.state not in ENDED and not watching.stopped:
        await watching.pause(LOOK_S)
        try:
            status = await watching.status(owner, job)
        except NoSuchJob:
            return
        except CauceError:
            # The fabric does not answer just now; the stream goes on when it does.
            yield WAITING
            await watching.pause(1.0)
            continue
        said = changes.event_of("status", msgspec.json.encode(status), now())
        if said or changes.silent(now()):
            yield said or STILL_HERE
        if graph and now() - graph_at >= GRAPH_S:
            graph_at = now()
            yield await _graph(watching, owner, job)
    if graph and first.state not in ENDED:
        yield await _graph(watching, owner, job)
        await watching.pause(LAST_WORDS_S)
        yield await _graph(watching, owner, job)


async def _graph(watching: Watching, owner: str, job: str) -> bytes:
    try:
        return event("graph", msgspec.json.encode(await watching.graph(owner, job)))
    except JobOver:
        return b": it has no graph any more\n\n"
    except CauceError:
        return WAITING


async def all_events(watching: Watching, owner: str, first: list[JobStatus]) -> AsyncIterator[bytes]:
    """All of an owner's jobs: first as a list, then each that has changed, and those that are gone."""
    now = asyncio.get_running_loop().time
    changes = Changes(now())
    for status in first:
        changes.event_of(status.job, msgspec.json.encode(status), now())
    yield event("all", msgspec.json.encode({"jobs": first}))
    while not watching.stopped:
        await watching.pause(LIST_S)
        try:
            jobs = await watching.jobs(owner)
        except CauceError:
            yield WAITING
            await watching.pause(1.0)
            continue
        gone = [event("gone", msgspec.json.encode({"job": job})) for job in changes.drop_all_but({s.job for s in jobs})]
        said = [changes.event_of(status.job, msgspec.json.encode(status), now()) for status in jobs]
        told = b"".join([*gone, *(each for each in said if each)])
        if told or changes.silent(now()):
            yield told or STILL_HERE
