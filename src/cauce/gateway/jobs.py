"""The service's jobs over a fabric: plain steps, no HTTP, no threads. Everything raised is a ServiceError.

SIGNATURES ARE FINAL; BODIES ARE BEING WRITTEN.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from cauce.fabric.contract import Fabric
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import (
    Answer,
    Held,
    JobRequest,
    JobStatus,
    PartBody,
    RejectPage,
    ResultPage,
)

Statuses = list[JobStatus]
FabricNames = list[str]

Tell = Callable[[str, JobStatus], None]
"""Told of events of weight: created, completed (all tables), done, failed, cancelled, expired; by the gateway that
brought it about or was the first to see it."""


def register(files: Iterable[Path]) -> dict[str, str]:
    """The operator's own datasets: names that clients may use, and the files that declare them."""
    raise NotImplementedError


class Jobs:
    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        clock: Callable[[], float] = time.time,
        *,
        datasets: Mapping[str, str] | None = None,
        tell: Tell | None = None,
    ) -> None: ...

    def create(self, owner: str, job: str, request: JobRequest) -> tuple[JobStatus, bool]:
        """True: created now. The same request again gives the job as it stands."""
        raise NotImplementedError

    def put_part(self, owner: str, job: str, table: str, seq: int, part: PartBody) -> bool:
        """True: new. False: the same part was held already."""
        raise NotImplementedError

    def held(self, owner: str, job: str, table: str) -> Held:
        raise NotImplementedError

    def complete(self, owner: str, job: str, table: str, parts: int) -> bool:
        """True: completed now. False: it was complete, with the same number."""
        raise NotImplementedError

    def status(self, owner: str, job: str) -> JobStatus:
        raise NotImplementedError

    def list(self, owner: str) -> Statuses:
        """Oldest first; cancelled and expired ones of the last day as well."""
        raise NotImplementedError

    def result(self, owner: str, job: str, query: str, cursor: str | None, limit: int) -> ResultPage:
        raise NotImplementedError

    def answer(self, owner: str, job: str, query: str) -> Answer:
        """A whole answer, page by page as it was written; TooEarly until it is complete."""
        raise NotImplementedError

    def rejects(self, owner: str, job: str, cursor: str | None, limit: int) -> RejectPage:
        raise NotImplementedError

    def rejects_csv(self, owner: str, job: str) -> Iterator[str]:
        """All rejects as `cauce run` writes them to rejects.csv (header included); TooEarly until they are complete."""
        raise NotImplementedError

    def why(self, owner: str, job: str) -> str:
        raise NotImplementedError

    def cancel(self, owner: str, job: str) -> JobStatus:
        raise NotImplementedError

    def sweep(self) -> FabricNames:
        """Expires what is overdue and releases what has ended; names (owner.job) of what has expired."""
        raise NotImplementedError
