"""Trims and deletes jobs, and does what others have left undone: sweeps after those who died over it, and says again
what the registry is about to forget.

First the registry says that something is to go, then it goes, then the registry says that it is gone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq_queues import in_vain, to_sweep
from cauce.fabric.rabbitmq_registry import Delete, Job, Swept, Trim
from cauce.fabric.rabbitmq_session import Session

SWEEP_AFTER_S = 5.0
"""For so long whoever began to remove something is left to it."""
SWEEP_AGAIN_S = 60.0
"""By then even a slow writer has heard that the job has ended, and makes no stream for it any more."""
UNDER_WAY_S = 3.0
"""For so long those who are about to make a stream or a queue are waited for, before all of them are removed."""
HOUSE_S = 1.0

_AT_MOST_S = 2.0
_WAIT_S = 0.1


class Sweep:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._next_round = 0.0
        self._noticed: dict[str, float] = {}
        self._again: list[tuple[float, list[str]]] = []

    def trim(self, name: str, keep: Sequence[str], deadline: float) -> None:
        job = self._session.find_surely(name, deadline)
        if job is None:
            return
        if job.kept is None or not job.kept <= set(keep):
            self._session.say([Trim(job.incarnation, list(keep))], deadline)
        self._sweep(job, deadline)

    def delete(self, name: str, deadline: float) -> None:
        self._session.catch_up(deadline)
        job = self._session.directory.registry.jobs.get(name)
        if job is not None:
            self._session.say([Delete(job.incarnation)], deadline)
            self._sweep(job, deadline)

    def _sweep(self, job: Job, deadline: float) -> None:
        self._await_makers(job, min(deadline, monotonic() + UNDER_WAY_S))
        names = to_sweep(self._session.namespace, job)
        self._session.queues.remove(names, deadline)
        self._session.to_remove -= set(names)
        self._again.append((monotonic() + SWEEP_AGAIN_S, names))
        self._remove_in_vain(job, deadline)
        if job.unswept:
            self._session.say([Swept(job.incarnation)], deadline)

    def _remove_in_vain(self, job: Job, deadline: float) -> None:
        """A broker that does not bring a stream into being may not be rid of it either: that is not waited for."""
        for name in in_vain(self._session.namespace, job) if job.deleted else ():
            with suppress(FabricLost):
                self._session.queues.remove([name], min(deadline, monotonic() + _AT_MOST_S))

    def _await_makers(self, job: Job, until: float) -> None:
        while job.under_way and monotonic() < until:
            seen = self._session.news.count
            self._session.look()
            if job.under_way:
                self._session.news.wait(seen, _WAIT_S)

    def keep_house(self) -> None:
        """Now and then, and not for long. What fails is done another time, by us or by others."""
        now = monotonic()
        if now < self._next_round:
            return
        self._next_round = now + HOUSE_S
        deadline = now + _AT_MOST_S
        with suppress(FabricLost):
            self._remove(now, deadline)
            self._sweep_after_others(now, deadline)
            renewals = self._session.directory.renewals()
            if renewals is not None:
                self._session.say([renewals], deadline)

    def _remove(self, now: float, deadline: float) -> None:
        self._session.queues.remove(sorted(self._session.to_remove), deadline)
        self._session.to_remove.clear()
        while self._again and self._again[0][0] < now:
            self._session.queues.remove(self._again.pop(0)[1], deadline)

    def _sweep_after_others(self, now: float, deadline: float) -> None:
        unswept = self._session.directory.registry.unswept
        self._noticed = {
            each: self._noticed.get(each) or now + SWEEP_AFTER_S * random.uniform(1, 2) for each in unswept
        }
        due = [job for each, job in unswept.items() if self._noticed[each] < now]
        for job in due:
            self._sweep(job, deadline)
