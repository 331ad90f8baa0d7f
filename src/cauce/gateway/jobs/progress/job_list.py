"""The status of one job and of lists of jobs, as people read them: a job that cannot be read is shown as damaged and
hides no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cauce.api.jobs import JobsBody, JobStatus
from cauce.api.names import LOCAL
from cauce.errors import CorruptRecord, FabricError, FabricFull, FabricLost
from cauce.fabric.names import job_name, owner_and_job
from cauce.gateway.jobs.job_context import JobContext
from cauce.gateway.jobs.result_cursor import list_cursor, read_list_cursor
from cauce.gateway.jobs.statuses import read_manifest
from cauce.gateway.jobs.tombstones import Tombstone

MOST_LISTED = 1_000
"""The most jobs in a page of a list, and in an event stream of all jobs."""


@dataclass(frozen=True)
class Audience:
    """Whose jobs a list has: those of one owner, or those of all owners."""

    owner: str
    all_owners: bool = False

    def includes(self, owner: str) -> bool:
        return self.all_owners or owner == self.owner

    def key(self, listed: Listed) -> tuple[float, str]:
        """The place of a job in a list. Ids are unique among the jobs of one owner only."""
        name = f"{listed.owner}.{listed.job}" if self.all_owners else listed.job
        return listed.created, name


def audience_of(owner: str, *, all_owners: bool) -> Audience:
    """Whose jobs a caller may list. Only the operator sees those of others."""
    return Audience(owner, all_owners=all_owners and owner == LOCAL)


@dataclass(frozen=True)
class Listed:
    """An entry of a job list. `known` is the job's tombstone, its manifest, or the error that prevents reading it."""

    created: float
    owner: str
    job: str
    known: Tombstone | bytes | FabricError


class JobList:
    def __init__(self, context: JobContext) -> None:
        self._fabric = context.fabric
        self._clock: Callable[[], float] = context.clock
        self._views = context.views
        self._statuses = context.statuses
        self._tombstones = context.tombstones

    def status(self, owner: str, job: str, *, consistent: bool) -> JobStatus:
        name = job_name(owner, job)
        data = self._views.manifest(name, consistent=consistent)
        if data is None:
            return self._statuses.of_tombstone(self._views.tombstone(owner, job))
        return self.current(owner, job, data, consistent=consistent)

    def current(self, owner: str, job: str, data: bytes, *, consistent: bool) -> JobStatus:
        """The status of a job with this manifest."""
        view = self._views.view(job_name(owner, job), data)
        if view is None:
            return self._statuses.of_unreadable(owner, job, data)
        try:
            self._views.refresh(view, consistent=consistent)
        except CorruptRecord as problem:
            return self._statuses.of_damaged(owner, job, problem)
        return self._statuses.of_view(view)

    def newest(self, audience: Audience) -> list[JobStatus]:
        """The newest jobs, oldest first, including jobs cancelled or expired during the last day."""
        return [self._shown(each) for each in self._listed(audience)[-MOST_LISTED:]]

    def page(self, audience: Audience, cursor: str | None, limit: int) -> JobsBody:
        """All jobs, oldest first, a page at a time."""
        after = None if cursor is None else read_list_cursor(cursor)
        found = [each for each in self._listed(audience) if after is None or audience.key(each) > after]
        page = found[:limit]
        rest = list_cursor(*audience.key(page[-1])) if len(found) > limit else None
        return JobsBody([self._shown(each) for each in page], rest, audience.owner)

    def _listed(self, audience: Audience) -> list[Listed]:
        tombstones = self._tombstones.all(self._clock())
        found = [
            Listed(each.created, owner, job, each)
            for (owner, job), each in tombstones.items()
            if audience.includes(owner)
        ]
        for name in self._fabric.jobs():
            whose = owner_and_job(name)
            if whose is not None and audience.includes(whose[0]) and whose not in tombstones:
                found += self._stored(name, *whose)
        return sorted(found, key=audience.key)

    def _stored(self, name: str, owner: str, job: str) -> Iterator[Listed]:
        try:
            data = self._fabric.manifest(name)
        except (FabricFull, FabricLost):
            raise
        except FabricError as problem:
            yield Listed(0.0, owner, job, problem)
            return
        if data is not None:
            yield Listed(read_manifest(name, data).created, owner, job, data)

    def _shown(self, listed: Listed) -> JobStatus:
        if isinstance(listed.known, Tombstone):
            return self._statuses.of_tombstone(listed.known)
        if isinstance(listed.known, FabricError):
            return self._statuses.of_damaged(listed.owner, listed.job, listed.known)
        try:
            return self.current(listed.owner, listed.job, listed.known, consistent=False)
        except (FabricFull, FabricLost):
            raise
        except FabricError as problem:
            return self._statuses.of_damaged(listed.owner, listed.job, problem)
