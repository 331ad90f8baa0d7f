"""Builds the status of a job from its read model, its tombstone, or an error that prevents reading it, and the figures
of all jobs for monitoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from cauce.api.jobs import ENDED, JobStatus, State, TableStatus
from cauce.errors import CauceError, CorruptRecord, DatasetMissing, FabricError, OtherVersion
from cauce.fabric.names import owner_and_job
from cauce.gateway.jobs.read_model import JobView, manifest_problem
from cauce.gateway.jobs.tombstones import DAY_S, Tombstone
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.public_text import without_folders
from cauce.job.manifest import Manifest, load_manifest
from cauce.schema.engine import log_name


class Statuses:
    def __init__(self, limits: ServiceLimits) -> None:
        self._limits = limits

    def of_view(self, view: JobView) -> JobStatus:
        status = self._of_logs(view)
        if view.unreadable is not None:
            return msgspec.structs.replace(
                status, cause=without_folders(str(view.unreadable)), code=view.unreadable.code
            )
        problem = None if status.state in ENDED else view.plan_problem()
        if problem is None or isinstance(problem, DatasetMissing) or not view.manifest.of_this_program:
            return status
        return self._unplanned(status, problem)

    def _of_logs(self, view: JobView) -> JobStatus:
        manifest, outcome, state = view.manifest, view.outcome, view.state
        expires: float | None = None
        if outcome is not None:
            expires = outcome.at + self._limits.results_seconds
        elif state in ("created", "receiving"):
            expires = view.active_at + self._limits.receiving_seconds
        return JobStatus(
            (owner_and_job(view.name) or ("", view.name))[1],
            manifest.owner,
            manifest.dataset,
            list(manifest.queries),
            state,
            without_folders(outcome.cause) if outcome else "",
            outcome.code if outcome else "",
            manifest.created,
            outcome.at if outcome else None,
            _titled(view.table_statuses(), manifest),
            {query: answer.status for query, answer in view.answers.items()},
            expires,
            manifest.parameters,
            on="" if manifest.on is None else manifest.on.dataset,
            version=0 if manifest.on is None else manifest.on.version,
        )

    def of_tombstone(self, tombstone: Tombstone) -> JobStatus:
        return JobStatus(
            tombstone.job,
            tombstone.owner,
            tombstone.dataset,
            tombstone.queries,
            tombstone.state,
            without_folders(tombstone.cause),
            tombstone.code,
            tombstone.created,
            tombstone.ended,
            {},
            {},
            tombstone.ended + DAY_S,
            tombstone.parameters,
            on=tombstone.on,
        )

    def _unplanned(self, status: JobStatus, problem: CauceError) -> JobStatus:
        """For an open job that another version of the dataset has created."""
        return msgspec.structs.replace(
            status,
            state="failed",
            cause=without_folders(str(problem)),
            code=problem.code,
            ended=status.created,
            expires=status.created + self._limits.results_seconds,
        )

    def of_damaged(self, owner: str, job: str, problem: FabricError) -> JobStatus:
        """For a job whose files cannot be read. It never expires: only its owner removes it."""
        return _damaged(owner, job, _damage(problem), problem.code)

    def of_unreadable(self, owner: str, job: str, data: bytes) -> JobStatus:
        """For a job whose manifest cannot be read."""
        problem = manifest_problem(job, data)
        if problem is None:
            return _damaged(owner, job, "", "")
        return _damaged(owner, job, without_folders(f"{problem}; remove the job, or restore its files"), problem.code)


def _damaged(owner: str, job: str, cause: str, code: str) -> JobStatus:
    return JobStatus(job, owner, "", [], "damaged", cause, code, 0.0, None, {}, {}, None)


def _damage(problem: FabricError) -> str:
    """Omits the paths of the service's files: only the operator may see them."""
    what = "one of its records" if isinstance(problem, CorruptRecord) else "one of its files"
    return f"{what} cannot be read; remove the job and run it again, or ask the operator to restore its files"


def _titled(tables: dict[str, TableStatus], manifest: Manifest) -> dict[str, TableStatus]:
    """Adds the names that the statements of a SQL job have for its tables, where they differ."""
    for schema in manifest.sql.schema.tables if manifest.sql is not None else ():
        name = log_name(schema.name)
        if name != schema.name and name in tables:
            tables[name] = msgspec.structs.replace(tables[name], title=schema.name)
    return tables


def read_manifest(name: str, data: bytes) -> Manifest:
    """The manifest of a job; an empty one if it cannot be read."""
    try:
        return load_manifest(data, name)
    except (CorruptRecord, OtherVersion):
        return Manifest(name, "", (), {}, 1, 1, "")


def sentence(status: JobStatus) -> str:
    """One sentence: the uploads that a job waits for, or how it ended. Not for running jobs."""
    job = status.job
    match status.state:
        case "created":
            return f"job {job} waits for its client: no part of {' or '.join(status.tables)} has been received"
        case "receiving":
            waiting = [
                f"table {name} ({table.parts} parts so far)"
                for name, table in status.tables.items()
                if table.complete is None
            ]
            return f"job {job} waits for its client to complete {' and '.join(waiting)}"
        case "done":
            return f"job {job} is done: all its answers are ready"
        case "damaged":
            return f"job {job} is damaged: {' '.join(status.cause.split())}"
    cause = f": {' '.join(status.cause.split())}" if status.cause else ""
    return f"job {job} {'has ' if status.state != 'cancelled' else 'was '}{status.state}{cause}"


@dataclass
class Figures:
    """`rows` and `rejects` count all stored jobs; the bytes count open jobs. Tasks hold `task_memory_bytes` of input in
    the memory of workers, and have written `spilled_bytes` to temporary files."""

    states: Counter[State] = field(default_factory=Counter)
    rows: int = 0
    rejects: int = 0
    held_bytes: int = 0
    waiting_bytes: int = 0
    task_memory_bytes: int = 0
    spilled_bytes: int = 0


def figures_of(views: Iterable[JobView]) -> Figures:
    found = Figures()
    for view in views:
        found.states[view.state] += 1
        found.rows += sum(reports.rows for reports in view.reports.values())
        found.rejects += sum(reports.rejected for reports in view.reports.values())
        if view.state not in ENDED:
            found.held_bytes += view.held_bytes
            found.waiting_bytes += view.backlog_bytes()
            found.task_memory_bytes += view.history.held_bytes
            found.spilled_bytes += view.history.spilled_bytes
    return found
