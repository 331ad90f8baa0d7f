"""A real service with its doctors, and a job that is submitted to it: processes, their kills and restarts."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.model.status import ClusterStatus, ProcessStatus
from cauce.doctor.query import QueryClient
from cauce.doctor.supervision.events import Event, EventLog
from cauce.fabric.factory import open_fabric
from tests.service.conftest import QUERIES, Case
from tests.service.running import Piece, Running, pieces_of, until
from tests.service.test_http_kills import finish, send_all

BACK_S = 60.0
"""Timeout for events that take less than a second on an idle machine."""


class Cluster:
    def __init__(
        self, folder: Path, *options: str, workers: int = 2, gateways: int = 2, doctors: int = 3, open_files: int = 0
    ) -> None:
        counts = ["--workers", str(workers), "--gateways", str(gateways), "--doctors", str(doctors)]
        self.service = Running(folder, "serve", *counts, *options, open_files=open_files)
        self.home = ServiceDir(self.service.folder)
        self.size = workers + gateways + doctors

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.service.stop()

    def alive(self) -> dict[str, ObservedProcess]:
        """The newest running instance of each process, by name."""
        found: dict[str, ObservedProcess] = {}
        for each in self.home.running_processes():
            if each.name not in found or found[each.name].generation < each.generation:
                found[each.name] = each
        return found

    def view(self) -> ClusterStatus | None:
        with QueryClient(self.home.cluster()) as client:
            return client.status()

    def rows(self) -> list[ProcessStatus]:
        view = self.view()
        return [] if view is None else view.rows

    def states(self) -> dict[str, str]:
        view = self.view()
        return {} if view is None else {row.name: row.state for row in view.rows}

    def leader(self) -> str:
        view = self.view()
        return view.leader if view is not None and view.leads else ""

    def until_leader(self) -> str:
        """Waits until a doctor answers, which may take a while on a busy machine, and returns the leader."""
        found: list[str] = []

        def answered() -> bool:
            found.append(self.leader())
            return bool(found[-1])

        until("a leader to answer", answered, BACK_S)
        return found[-1]

    def well(self) -> bool:
        """Whether there is a leader and one instance of each process runs, according to the leader and to the
        kernel."""
        view = self.view()
        if view is None or not view.leads or len(self.home.running_processes()) != self.size:
            return False
        return len(view.rows) == self.size and all(row.state == "running" and row.ready for row in view.rows)

    def until_well(self) -> float:
        return until("all to be well", self.well, BACK_S)

    def kill(self, names: Iterable[str], number: signal.Signals = signal.SIGKILL) -> list[ObservedProcess]:
        """Kills all of them, as close together as possible."""
        alive = self.alive()
        victims = [alive[name] for name in names]
        for each in victims:
            os.kill(each.pid, number)
        return victims

    def until_replaced(self, victims: list[ObservedProcess]) -> float:
        def replaced() -> bool:
            alive = self.alive()
            return all(each.name in alive and alive[each.name].pid != each.pid for each in victims) and self.well()

        return until(f"{', '.join(each.name for each in victims)} to be replaced", replaced, BACK_S)

    def events(self) -> list[Event]:
        cluster = self.home.cluster()
        fabric = open_fabric(cluster.fabric)
        try:
            return EventLog(fabric).read()
        finally:
            fabric.close()

    def events_of(self, what: str, name: str) -> list[Event]:
        return [each for each in self.events() if (each.what, each.name) == (what, name)]

    def until_event(self, what: str, name: str) -> Event:
        """Waits for the event and returns the last one. Events are appended shortly after they happen."""
        found: list[Event] = []

        def look() -> bool:
            found[:] = self.events_of(what, name)
            return bool(found)

        until(f"{name} {what} on the timeline", look)
        return found[-1]


class Sending:
    """A job whose parts are resent until each is accepted, while the test injects faults."""

    def __init__(self, cluster: Cluster, case: Case, job: str = "stormy", senders: int = 2) -> None:
        self._service = cluster.service
        self._case = case
        self._job = job
        self._pieces: list[Piece] = pieces_of("books", case.data, 2**15, QUERIES)
        self._stop = threading.Event()
        self.statuses: list[int] = []
        assert self._service.create(job, queries=QUERIES).status == 201
        self._threads = [
            threading.Thread(
                target=send_all,
                args=(lambda: self._service.url, job, self._pieces[number::senders], self.statuses, self._stop),
            )
            for number in range(senders)
        ]
        for thread in self._threads:
            thread.start()

    def until_under_way(self) -> None:
        until("some parts", lambda: self.statuses.count(201) > 3)

    def finish(self) -> None:
        """Checks that each part is stored once and that the answers equal the oracle's."""
        for thread in self._threads:
            thread.join(BACK_S)
        assert not any(thread.is_alive() for thread in self._threads)
        finish(self._service, self._job, self._pieces, self._case)

    def drop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(BACK_S)
