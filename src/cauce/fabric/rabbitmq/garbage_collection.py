"""Trims and deletes jobs, completes removals of crashed processes, and re-appends registry facts before retention drops
them.

Order of a removal: append the intent to the registry, delete the streams and queues, append `Swept`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.queues import garbage_of, unusable_streams
from cauce.fabric.rabbitmq.registry import Delete, Job, Swept, Trim
from cauce.fabric.rabbitmq.session import Session

SWEEP_AFTER_S = 5.0
"""Time after which another process completes a removal."""
SWEEP_AGAIN_S = 60.0
"""Delay of the second removal. By then even a slow writer knows that the job has ended and declares no stream."""
UNDER_WAY_S = 3.0
"""How long a removal waits for processes that are about to declare a stream or a queue."""
HOUSE_S = 1.0

_AT_MOST_S = 2.0
_WAIT_S = 0.1


class GarbageCollector:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._next_round = 0.0
        self._noticed: dict[str, float] = {}
        self._again: list[tuple[float, list[str]]] = []

    def trim(self, name: str, keep: Sequence[Log], deadline: float) -> None:
        job = self._session.find_consistent(name, deadline)
        if job is None:
            return
        if job.kept is None or not job.kept <= set(keep):
            self._session.append_and_apply([Trim(job.incarnation, [log.encode() for log in keep])], deadline)
        self._sweep(job, deadline)

    def delete(self, name: str, deadline: float) -> None:
        self._session.read_barrier(deadline)
        job = self._session.registry_client.registry.jobs.get(name)
        if job is not None:
            self._session.append_and_apply([Delete(job.incarnation)], deadline)
            self._sweep(job, deadline)

    def _sweep(self, job: Job, deadline: float) -> None:
        self._await_makers(job, min(deadline, monotonic() + UNDER_WAY_S))
        names = garbage_of(self._session.namespace, job)
        self._session.queues.remove(names, deadline)
        self._session.to_remove -= set(names)
        self._again.append((monotonic() + SWEEP_AGAIN_S, names))
        self._remove_unusable(job, deadline)
        if job.unswept:
            self._session.append_and_apply([Swept(job.incarnation)], deadline)

    def _remove_unusable(self, job: Job, deadline: float) -> None:
        """Removes streams that never became usable. Errors are ignored: the broker may also fail to delete them."""
        for name in unusable_streams(self._session.namespace, job) if job.deleted else ():
            with suppress(FabricLost):
                self._session.queues.remove([name], min(deadline, monotonic() + _AT_MOST_S))

    def _await_makers(self, job: Job, until: float) -> None:
        while job.under_way and monotonic() < until:
            seen = self._session.changes.count
            self._session.poll()
            if job.under_way:
                self._session.changes.wait(seen, _WAIT_S)

    def run_periodic(self) -> None:
        """Periodic and bounded in time. A later call, or another process, repeats a step that fails."""
        now = monotonic()
        if now < self._next_round:
            return
        self._next_round = now + HOUSE_S
        deadline = now + _AT_MOST_S
        with suppress(FabricLost):
            self._remove(now, deadline)
            self._sweep_after_others(now, deadline)
            renewals = self._session.registry_client.renewals()
            if renewals is not None:
                self._session.append_and_apply([renewals], deadline)

    def _remove(self, now: float, deadline: float) -> None:
        self._session.queues.remove(sorted(self._session.to_remove), deadline)
        self._session.to_remove.clear()
        while self._again and self._again[0][0] < now:
            self._session.queues.remove(self._again[0][1], deadline)
            self._again.pop(0)

    def _sweep_after_others(self, now: float, deadline: float) -> None:
        unswept = self._session.registry_client.registry.unswept
        self._noticed = {
            each: self._noticed.get(each) or now + SWEEP_AFTER_S * random.uniform(1, 2) for each in unswept
        }
        due = [job for each, job in unswept.items() if self._noticed[each] < now]
        for job in due:
            self._sweep(job, deadline)
