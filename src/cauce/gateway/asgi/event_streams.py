"""Server-sent events: the status of jobs, on change. A slow reader may miss intermediate states, never the last one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from cauce.api.jobs import ENDED, JobsBody, JobStatus
from cauce.errors import CauceError
from cauce.gateway.errors import JobOver, NoSuchJob
from cauce.gateway.status_polling import LOOK_S, StatusPolling

KEEP_ALIVE_S = 10.0
STILL_HERE = b": still here\n\n"
WAITING = b": waiting\n\n"
LIST_S = 0.5
GRAPH_S = 1.0
FINAL_STATISTICS_S = 1.5
"""How long after the end of a job its workers may still publish statistics."""


def event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class ChangeFilter:
    """Suppresses events that repeat the last one of the same name, and decides when a keep-alive is due."""

    def __init__(self, now: float) -> None:
        self._last_sent: dict[str, bytes] = {}
        self._sent_at = now

    def event_of(self, name: str, data: bytes, now: float) -> bytes | None:
        """The status as an event; None if it equals the last one under this name."""
        if self._last_sent.get(name) == data:
            return None
        self._last_sent[name] = data
        self._sent_at = now
        return event("status", data)

    def retain(self, names: set[str]) -> list[str]:
        """Forgets all other names and returns them."""
        gone = [name for name in self._last_sent if name not in names]
        for name in gone:
            del self._last_sent[name]
        return gone

    def keep_alive_due(self, now: float) -> bool:
        """Whether to send a keep-alive comment now; if so, restarts the interval."""
        if now - self._sent_at < KEEP_ALIVE_S:
            return False
        self._sent_at = now
        return True


async def job_events(
    watching: StatusPolling, owner: str, job: str, first: JobStatus, *, graph: bool
) -> AsyncIterator[bytes]:
    """Status events of a job until it ends; with `graph` also its running plan, about once a second."""
    now = asyncio.get_running_loop().time
    changes, graph_at = ChangeFilter(now()), now()
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
            # The fabric is unavailable: keep the stream open until it is back.
            yield WAITING
            await watching.pause(1.0)
            continue
        changed = changes.event_of("status", msgspec.json.encode(status), now())
        if changed or changes.keep_alive_due(now()):
            yield changed or STILL_HERE
        if graph and now() - graph_at >= GRAPH_S:
            graph_at = now()
            yield await _graph(watching, owner, job)
    if graph and first.state not in ENDED:
        yield await _graph(watching, owner, job)
        await watching.pause(FINAL_STATISTICS_S)
        yield await _graph(watching, owner, job)


async def _graph(watching: StatusPolling, owner: str, job: str) -> bytes:
    try:
        return event("graph", msgspec.json.encode(await watching.graph(owner, job)))
    except JobOver:
        return b": it has no graph any more\n\n"
    except CauceError:
        return WAITING


async def all_events(
    watching: StatusPolling, owner: str, first: list[JobStatus], *, all_owners: bool
) -> AsyncIterator[bytes]:
    """Events for all jobs of an owner, or of all owners for the operator: first the list, then each changed status and
    each removed job."""
    now = asyncio.get_running_loop().time
    changes = ChangeFilter(now())
    for status in first:
        changes.event_of(_name(status), msgspec.json.encode(status), now())
    yield event("all", msgspec.json.encode(JobsBody(first, owner=owner)))
    while not watching.stopped:
        await watching.pause(LIST_S)
        try:
            jobs = await watching.jobs(owner, all_owners=all_owners)
        except CauceError:
            yield WAITING
            await watching.pause(1.0)
            continue
        removed = [_gone(name) for name in changes.retain({_name(status) for status in jobs})]
        changed = [changes.event_of(_name(status), msgspec.json.encode(status), now()) for status in jobs]
        events = b"".join([*removed, *(each for each in changed if each)])
        if events or changes.keep_alive_due(now()):
            yield events or STILL_HERE


def _name(status: JobStatus) -> str:
    """Unique among the jobs of all owners. An owner contains no dot."""
    return f"{status.owner}.{status.job}"


def _gone(name: str) -> bytes:
    owner, _, job = name.partition(".")
    return event("gone", msgspec.json.encode({"job": job, "owner": owner}))
