"""The jobs that one thread of a gateway has looked at, each read on from where it was left."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

import msgspec

from cauce.errors import CauceError
from cauce.fabric.contract import Fabric
from cauce.gateway.ends import Ends, Tombstone
from cauce.gateway.errors import JobOver
from cauce.gateway.model import JobStatus
from cauce.gateway.names import fabric_name, no_such_job, owner_and_job
from cauce.gateway.statuses import Statuses, read_manifest
from cauce.gateway.view import JobView
from cauce.worker.loop import Ending

Tell = Callable[[str, JobStatus], None]
"""Told of events of weight: created, completed (all tables), done, failed, cancelled, expired; by the gateway that
brought it about or was the first to see it."""

_KEPT = 2_000
_TRIM_AGAIN_S = 30.0
"""A worker that had not heard of the end may have written once more; by now it has heard."""


class Views:
    def __init__(self, fabric: Fabric, statuses: Statuses, ends: Ends, clock: Callable[[], float], tell: Tell) -> None:
        self._fabric = fabric
        self._statuses = statuses
        self._ends = ends
        self._clock = clock
        self._tell = tell
        self._views: OrderedDict[str, JobView] = OrderedDict()

    def open(self, owner: str, job: str) -> JobView:
        """Raises if there is no such job, or none any more."""
        name = fabric_name(owner, job)
        data = self.manifest(name)
        if data is None:
            stone = self.stone(owner, job)
            raise JobOver(f"job {job} is {stone.state}: {stone.cause}; what it held is gone")
        view = self.view(name, data)
        if view is None:
            raise JobOver(f"job {job} cannot be run: {self._statuses.of_unplanned(owner, job, data).cause}")
        return view

    def manifest(self, name: str) -> bytes | None:
        """None if there is no such job, whichever gateway may have created it before we were asked."""
        data = self._fabric.manifest(name)
        if data is None:
            self._fabric.catch_up()
            data = self._fabric.manifest(name)
        return data

    def stone(self, owner: str, job: str) -> Tombstone:
        stone = self._ends.find_surely(owner, job, self._clock())
        if stone is None:
            raise no_such_job(job)
        return stone

    def view(self, name: str, data: bytes) -> JobView | None:
        """What is known of the job that was created with this manifest; None if it cannot be planned here."""
        view = self._views.get(name)
        if view is None or view.data != data:
            try:
                view = JobView(name, data, read_manifest(name, data))
            except CauceError:
                return None
        self._views[name] = view
        self._views.move_to_end(name)
        while len(self._views) > _KEPT:
            self._views.popitem(last=False)
        return view

    def all(self) -> Iterator[JobView]:
        for name in self._fabric.jobs():
            data = self._fabric.manifest(name) if owner_and_job(name) is not None else None
            view = None if data is None else self.view(name, data)
            if view is not None:
                yield view

    def forget(self, name: str) -> None:
        self._views.pop(name, None)

    def refresh(self, view: JobView, *, surely: bool = False) -> None:
        """Reads on, and notes the end of the job if this is the first to see it. A job that is new to us is seen as it
        stands: another gateway may have told more of it already."""
        if view.settled:
            return
        if surely or not view.caught_up:
            view.catch_up(self._fabric)
        else:
            view.refresh(self._fabric)
        ending = view.end.ending
        if ending is None and view.complete:
            ending = Ending("done")
        if ending is None:
            return
        if not view.complete:
            # The end may be seen before what it is the end of.
            view.catch_up(self._fabric)
        if not ending.at:
            view.note(self._fabric, msgspec.structs.replace(ending, at=self._clock()))
            self.trim(view)
            self._tell(view.state, self._statuses.of_view(view))
        view.settled = view.complete or view.state != "done"

    def trim(self, view: JobView) -> None:
        """Of a job that has ended only what is still asked for stays."""
        ending = view.end.ending
        if ending is None or not ending.at:
            return
        late = self._clock() - ending.at > _TRIM_AGAIN_S
        if view.trims < 1 + late:
            self._fabric.trim(view.name, view.kept_logs())
            view.trims = 1 + late
