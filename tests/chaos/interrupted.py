"""Clients that pause in the middle of their upload, so that a fault hits work in progress; measures when work
continues."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cauce.client import Service
from cauce.client.settings import Sent, Settings
from cauce.errors import CauceError
from cauce.lab.generators import generate
from tests.oracle.api import answer
from tests.service.running import until

SMALL = Settings(part_bytes=16_000, window=4, connections=2)
PATIENCE_S = 240.0
WHY_S = 30.0
FURTHER = SMALL.connections + 2


@dataclass(frozen=True)
class Case:
    """A dataset's files and the oracle's answers to them."""

    dataset: str
    data: Path
    wanted: Mapping[str, bytes]

    @property
    def queries(self) -> list[str]:
        return [name for name in self.wanted if name != "rejects"]


def make_case(dataset: str, folder: Path, scale: float) -> Case:
    generate(dataset, folder, scale=scale, seed=11)
    return Case(dataset, folder, dict(answer(dataset, folder)))


@dataclass
class Interrupted:
    """One client. It sends some parts, waits for a signal of the test, sends the rest and waits for its answers."""

    case: Case
    url: str | list[str]
    job: str
    before: int = 4
    token: str | None = None
    half_way: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    problem: BaseException | None = None
    sent_at: list[float] = field(default_factory=list)
    """When each further part was acknowledged."""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with Service(self.url, self.token, patience_s=PATIENCE_S) as service:
                service.submit(
                    self.case.dataset, self.case.data, job=self.job, settings=SMALL, on_progress=self._progress
                )
        except BaseException as problem:  # noqa: BLE001  (raised again by the waiting thread)
            self.problem = problem
        finally:
            self.half_way.set()

    def _progress(self, sent: Sent) -> None:
        if sent.sent >= self.before and not self.go_on.is_set():
            self.half_way.set()
            assert self.go_on.wait(PATIENCE_S)
        elif self.go_on.is_set():
            self.sent_at.append(time.monotonic())

    def finish(self) -> None:
        """Waits for all its answers and compares them with the oracle's."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"{self.job} did not end: {self._why()}"
        if self.problem is not None:
            raise self.problem
        with Service(self.url, self.token, patience_s=PATIENCE_S) as service:
            job = service.job(self.job)
            for query in self.case.queries:
                into = io.BytesIO()
                job.save(query, "csv", into)
                assert into.getvalue() == self.case.wanted[query], f"{self.job}: {query}"
            job.cancel()

    def _why(self) -> str:
        """What the job waits for, and how far it is, as far as a gateway answers."""
        try:
            with Service(self.url, self.token, patience_s=WHY_S) as service:
                job = service.job(self.job)
                return f"{job.why()} {job.status()}"
        except CauceError as problem:
            return str(problem)

    def has_gone_on(self) -> bool:
        if self.problem is not None:
            raise self.problem
        return len(self.sent_at) >= FURTHER

    def parts_read(self) -> int:
        with Service(self.url, self.token, patience_s=PATIENCE_S) as service:
            status = service.job(self.job).status()
        return sum(table.parts_read for table in status.tables.values())


def half_way(clients: list[Interrupted]) -> None:
    """Waits until all clients have sent some parts, and workers have read some."""
    for client in clients:
        client.start()
    for client in clients:
        assert client.half_way.wait(PATIENCE_S)
        assert client.problem is None, client.problem
    until("a part that is read", lambda: any(client.parts_read() > 0 for client in clients))


def until_work_goes_on(clients: list[Interrupted]) -> float:
    """Resumes the clients. Returns the seconds until more parts of each were acknowledged than can have been in
    flight."""
    started = time.monotonic()
    for client in clients:
        client.go_on.set()
    for client in clients:
        until(f"further parts of {client.job}", client.has_gone_on, PATIENCE_S)
    return max(client.sent_at[:FURTHER][-1] for client in clients) - started
