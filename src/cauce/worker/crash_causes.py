"""Determines why a worker process ended, from the kernel's counter of out-of-memory kills and the doctors' records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from cauce.errors import CauceError
from cauce.job.crashes import Cause, Scene
from cauce.process.memory_kills import memory_kills


class HostWitness:
    """`worker` is the unique name of this process; `recorded` returns the cause that the doctors recorded for a
    process name."""

    def __init__(self, worker: str = "", recorded: Callable[[str], Cause] = lambda worker: "") -> None:
        self._worker = worker
        self._recorded = recorded

    def scene(self) -> Scene:
        kills = memory_kills()
        return Scene(worker=self._worker, scope=kills.scope, kills=kills.count)

    def cause(self, scene: Scene) -> Cause:
        # Without the doctors' records the crash still counts, with an unknown cause.
        with suppress(CauceError):
            if scene.worker and (cause := self._recorded(scene.worker)):
                return cause
        now = memory_kills()
        # The counter covers a group of processes: a kill of another one at the same time is counted too.
        return "memory" if scene.scope and scene.scope == now.scope and scene.kills < now.count else ""
