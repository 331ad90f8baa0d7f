"""What is said of a job to its owner: made of what is known of it, of its tombstone, or of its manifest alone."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cauce.errors import CauceError
from cauce.gateway.ends import DAY_S, Tombstone
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import JobStatus
from cauce.gateway.names import owner_and_job
from cauce.gateway.view import JobView
from cauce.wire.manifest import Manifest, load_manifest


class Statuses:
    def __init__(self, limits: ServiceLimits, public: Mapping[str, str]) -> None:
        """`public` are the names under which clients know datasets, by what manifests call them."""
        self._limits = limits
        self._public = public

    def dataset(self, name: str) -> str:
        return self._public.get(name, name)

    def of_view(self, view: JobView) -> JobStatus:
        manifest, ending, state = view.manifest, view.end.ending, view.state
        expires: float | None = None
        if ending is not None and ending.at:
            expires = ending.at + self._limits.results_seconds
        elif state in ("created", "receiving"):
            expires = view.active_at + self._limits.receiving_seconds
        return JobStatus(
            (owner_and_job(view.name) or ("", view.name))[1],
            manifest.owner,
            self.dataset(manifest.dataset),
            list(manifest.queries),
            state,
            ending.cause if ending else "",
            ending.code if ending else "",
            manifest.created,
            (ending.at or None) if ending else None,
            view.table_statuses(),
            {query: answer.status for query, answer in view.answers.items()},
            expires,
            manifest.parameters,
        )

    def of_stone(self, stone: Tombstone) -> JobStatus:
        return JobStatus(
            stone.job,
            stone.owner,
            stone.dataset,
            stone.queries,
            stone.state,
            stone.cause,
            stone.code,
            stone.created,
            stone.ended,
            {},
            {},
            stone.ended + DAY_S,
            stone.parameters,
        )

    def of_unplanned(self, owner: str, job: str, data: bytes) -> JobStatus:
        """Of a job that another version of the program, or of the dataset, has created."""
        manifest = read_manifest(job, data)
        try:
            manifest.plan()
            cause, code = "", ""
        except CauceError as problem:
            cause, code = str(problem), problem.code
        return JobStatus(
            job,
            owner,
            self.dataset(manifest.dataset),
            list(manifest.queries),
            "failed",
            cause,
            code,
            manifest.created,
            manifest.created,
            {},
            {},
            manifest.created + self._limits.results_seconds,
            manifest.parameters,
        )


def read_manifest(name: str, data: bytes) -> Manifest:
    """What a job was created with. One that cannot be read, which no gateway has written, is a job without a plan."""
    try:
        return load_manifest(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Manifest(name, "", (), {}, 1, 1, "")


def sentence(status: JobStatus) -> str:
    """What a job waits for, or how it ended, where its status says it all."""
    job = status.job
    match status.state:
        case "created":
            return f"job {job} waits for its client: no part of {' or '.join(status.tables)} has come yet"
        case "receiving":
            waiting = [
                f"table {name} ({table.parts} parts so far)"
                for name, table in status.tables.items()
                if table.complete is None
            ]
            return f"job {job} waits for its client to complete {' and '.join(waiting)}"
        case "done":
            return f"job {job} is done: all its answers can be read"
    cause = f": {' '.join(status.cause.split())}" if status.cause else ""
    return f"job {job} {'has ' if status.state != 'cancelled' else 'was '}{status.state}{cause}"
