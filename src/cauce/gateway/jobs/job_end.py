"""The end of jobs: records outcomes, cancels, expires and trims. The only module that writes without an upload.

Requests that read a job never come here: a background task of every gateway calls `sweep` once a second.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from cauce.api.jobs import ENDED, JobStatus, State
from cauce.errors import CauceError, FabricError, FabricFull, FabricLost, PlanMismatch
from cauce.fabric.names import owner_and_job
from cauce.gateway.jobs.idleness import Expiry
from cauce.gateway.jobs.job_context import JobContext
from cauce.gateway.jobs.planning import asked
from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.jobs.statuses import figures_of, read_manifest
from cauce.gateway.jobs.tombstones import Tombstone
from cauce.job.outcome import Outcome
from cauce.runner.local_client import enqueue_tasks
from cauce.worker.tasks.lost_records import lost_records

_TRIM_AGAIN_S = 30.0
"""Trim again after this time: a worker that had not read the end of the job may have appended once more."""

_ENQUEUE_AGAIN_S = 2.0
"""Age of a job over a kept dataset at which its tasks are enqueued once more."""

NEEDED_PROGRAM_S = 600.0
"""How long a job waits for a worker with the versions that planned it."""


class JobEnds:
    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._fabric = context.fabric
        self._views = context.views
        self._tombstones = context.tombstones

    def cancel(self, name: str, data: bytes, before: State) -> JobStatus:
        cause = f"{before}, then removed by its client" if before in ENDED else "cancelled by its client"
        status = self._context.statuses.of_tombstone(self._delete(name, data, "cancelled", cause))
        self._context.notify("cancelled", status)
        return status

    def record_end(self, name: str) -> None:
        data = self._fabric.manifest(name)
        view = None if data is None else self._views.view(name, data)
        if view is not None:
            self._record_end(view)

    def sweep(self) -> list[str]:
        """A job that fails does not stop the sweep of the others; the first error is raised at the end."""
        expired: list[str] = []
        problems: list[CauceError] = []
        self._tombstones.sweep(self._context.shared.idleness.now())
        tombstones = self._tombstones.all(self._context.clock())
        for name in self._fabric.jobs():
            whose = owner_and_job(name)
            try:
                if whose in tombstones:
                    # A gateway crashed before it could delete the job, or the job was created concurrently.
                    self._fabric.delete_job(name)
                elif whose is not None and self._sweep_readable(name, *whose):
                    expired.append(name)
            except CauceError as problem:
                problems.append(problem)
        self._context.shared.idleness.keep_only(frozenset((*self._fabric.jobs(), *self._fabric.service_logs())))
        self._context.shared.held_bytes = figures_of(self._views.all()).held_bytes
        if problems:
            raise problems[0]
        return expired

    def _sweep_readable(self, name: str, owner: str, job: str) -> bool:
        """Whether it has expired. An unreadable job stays until its owner, who sees it as damaged, removes it."""
        try:
            return self._sweep_one(name, owner, job)
        except (FabricFull, FabricLost):
            raise
        except FabricError:
            return False

    def _sweep_one(self, name: str, owner: str, job: str) -> bool:
        data = self._fabric.manifest(name)
        if data is None:
            return False
        view = self._views.view(name, data)
        if view is None:
            status = self._context.statuses.of_unreadable(owner, job, data)
        else:
            self._record_end(view)
            view = self._fail_if_lost(view)
            self._trim(view)
            self._enqueue_again(view)
            self._fail_without_worker(view)
            status = self._context.statuses.of_view(view)
            if self._is_overdue(name, status):
                # Another gateway may have received parts of it in the meantime.
                self._views.refresh(view, consistent=True)
                status = self._context.statuses.of_view(view)
        if not self._is_overdue(name, status):
            return False
        if status.state in ENDED:
            cause = (
                f"it was {status.state}, and its answers are retained for {self._context.limits.results_seconds:.0f} s"
            )
        else:
            cause = f"no part was received for {self._context.limits.receiving_seconds:.0f} s"
        self._context.notify("expired", self._context.statuses.of_tombstone(self._delete(name, data, "expired", cause)))
        return True

    def _record_end(self, view: JobView) -> None:
        """Records the outcome that the logs imply. A read barrier comes first, so that an outcome which another gateway
        has recorded is kept, and a second one before anything is shown."""
        self._views.refresh(view)
        if view.unrecorded_outcome() is None:
            return
        self._views.refresh(view, consistent=True)
        outcome = view.unrecorded_outcome()
        if outcome is None or not self._append(view, msgspec.structs.replace(outcome, at=self._context.clock())):
            return
        self._views.refresh(view, consistent=True)
        self._trim(view)
        self._context.notify(view.state, self._context.statuses.of_view(view))

    def _fail_if_lost(self, view: JobView) -> JobView:
        """Fails a job if confirmed records of its answers or reports are lost: a producer closes its output when all of
        its records are confirmed. Must never judge records that are only late: it judges after two read barriers, the
        second one followed by a read of all logs from their start. Returns the view that has read the most."""
        if view.outcome is not None or view.short_log() is None:
            return view
        self._views.refresh(view, consistent=True)
        if view.outcome is not None or view.short_log() is None:
            return view
        self._views.forget(view.name)
        again = self._views.view(view.name, view.data)
        if again is None:
            return view
        self._views.refresh(again, consistent=True)
        short = again.short_log()
        if short is not None and again.outcome is None:
            self.fail(again, lost_records(short.log, again.name, short.names))
        return again

    def fail(self, view: JobView, problem: CauceError) -> None:
        if self._append(view, Outcome("failed", str(problem), problem.code, self._context.clock())):
            self._views.refresh(view, consistent=True)
            self._trim(view)
            self._context.notify(view.state, self._context.statuses.of_view(view))

    def _enqueue_again(self, view: JobView) -> None:
        """A job over a kept dataset needs no action of its client after its creation: if the gateway that created it
        crashed before it enqueued the tasks, another one must."""
        due = self._context.clock() - view.manifest.created > _ENQUEUE_AGAIN_S
        if view.manifest.on is None or not due or view.enqueued or view.state in ENDED or view.plan_problem():
            return
        enqueue_tasks(self._fabric, view.name, view.topology)
        view.enqueued = True

    def _fail_without_worker(self, view: JobView) -> None:
        """Fails a job that workers of other versions declined, if no worker has worked on it for a long time."""
        needed = view.end.needed_program
        if not needed or view.state != "running":
            return
        view.history.advance(self._fabric, view.name)
        last_at = max(view.active_at, view.history.extent[1] if view.history.extent is not None else 0.0)
        expiry = Expiry(last_at + NEEDED_PROGRAM_S, NEEDED_PROGRAM_S, NEEDED_PROGRAM_S, last_at)
        if self._context.shared.idleness.is_overdue(view.name, expiry):
            problem = PlanMismatch(
                f"the job was planned by {needed}, and for {NEEDED_PROGRAM_S / 60:.0f} minutes no worker of "
                "that version has worked on it: submit it again, or start such a worker earlier"
            )
            self._views.refresh(view, consistent=True)
            if view.state == "running" and view.unrecorded_outcome() is None:
                self.fail(view, problem)

    def _append(self, view: JobView, outcome: Outcome) -> bool:
        """False if the fabric has no space, even after the logs of the job were trimmed, or if the job was deleted."""
        for attempt in range(2):
            try:
                return view.record(self._fabric, outcome)
            except FabricFull:
                if not attempt:
                    with suppress(FabricFull):
                        self._fabric.trim(view.name, view.kept_logs())
        return False

    def _trim(self, view: JobView) -> None:
        """Deletes the logs of an ended job that no request needs any more."""
        if view.outcome is None:
            return
        late = self._context.clock() - view.outcome.at > _TRIM_AGAIN_S
        if view.trims < 1 + late:
            self._fabric.trim(view.name, view.kept_logs())
            view.trims = 1 + late

    def _is_overdue(self, name: str, status: JobStatus) -> bool:
        if status.expires is None:
            return False
        limits = self._context.limits
        limit_s = limits.results_seconds if status.state in ENDED else limits.receiving_seconds
        least_s = min(limits.receiving_seconds, limit_s)
        activity = tuple((table.parts, table.complete) for table in status.tables.values())
        return self._context.shared.idleness.is_overdue(name, Expiry(status.expires, limit_s, least_s, activity))

    def _delete(self, name: str, data: bytes, state: State, cause: str) -> Tombstone:
        """Appends the tombstone, then deletes the job: after a crash in between, another gateway's sweep deletes it. If
        the fabric has no space for the tombstone, the job is deleted first, atomically: after a crash in between it is
        gone without a tombstone, and does not come back."""
        owner, job = owner_and_job(name) or ("", name)
        manifest = read_manifest(name, data)
        request = asked(manifest)
        tombstone = Tombstone(
            job,
            owner,
            manifest.dataset,
            list(manifest.queries),
            manifest.parameters,
            state,
            cause,
            state,
            manifest.created,
            self._context.clock(),
            request.on,
            request.sql,
        )
        try:
            self._tombstones.add(tombstone)
            self._fabric.delete_job(name)
        except FabricFull:
            self._fabric.delete_job(name)
            self._tombstones.add_later(tombstone)
        self._views.forget(name)
        return self._tombstones.find(owner, job, self._context.clock()) or tombstone
