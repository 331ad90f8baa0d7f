"""A service under load: its processes, its timeline, and clients that submit jobs and compare every answer."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.server_process import serving
from cauce.client import Service
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.query import QueryClient
from cauce.doctor.supervision.events import Event, EventLog
from cauce.fabric.factory import open_fabric
from cauce.lab.generators import generate

QUERIES = ["q1", "q2", "q3", "q4"]
LONGEST_S = 120.0


class Measured:
    def __init__(self, folder: Path, url: str) -> None:
        self.service_dir = ServiceDir(folder)
        self.url = url
        self._fabric = open_fabric(self.service_dir.cluster().fabric)
        self._timeline = EventLog(self._fabric)

    def running(self) -> dict[str, ObservedProcess]:
        return {each.name: each for each in self.service_dir.running_processes()}

    def ready(self, size: int) -> bool:
        with QueryClient(self.service_dir.cluster()) as client:
            status = client.status()
        return (
            status is not None
            and status.leads
            and len(status.rows) == size
            and all(row.state == "running" and row.ready for row in status.rows)
        )

    def events(self) -> list[Event]:
        return self._timeline.read()

    def close(self) -> None:
        self._fabric.close()


class Clients:
    """Threads that submit the same files repeatedly; all answers must be equal."""

    def __init__(self, url: str, data: Path, count: int) -> None:
        self._url = url
        self._data = data
        self._stop = threading.Event()
        self._first: dict[str, object] = {}
        self.done = 0
        self.problem = ""
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int) -> None:
        with Service(self._url) as service:
            turn = 0
            while not self._stop.is_set():
                turn += 1
                try:
                    job = service.submit("books", self._data, QUERIES, job=f"load-{number}-{turn}")
                    self._compare({query: job.results(query).rows() for query in QUERIES})
                    job.cancel()
                except Exception as problem:  # noqa: BLE001  (any failure is a result of the measurement)
                    self.problem = self.problem or f"{type(problem).__name__}: {problem}"
                    return

    def _compare(self, found: dict[str, object]) -> None:
        with self._lock:
            self._first = self._first or found
            self.done += 1
            if found != self._first:
                self.problem = self.problem or "an answer differs from the first one"

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST_S)


@contextmanager
def measured(scratch: Path, clients: int, scale: float, *options: str) -> Iterator[tuple[Measured, Clients]]:
    """A service with active clients. Exits with an error if any answer differs from the first."""
    data = scratch / "data"
    generate("books", data, scale=scale, seed=1)
    folder = scratch / "service"
    with serving("serve", folder, [*options, "--end-with", str(os.getpid())]) as served:
        service, load = Measured(folder, served.url), Clients(served.url, data, clients)
        try:
            yield service, load
        finally:
            load.end()
            service.close()
    if load.problem:
        sys.exit(f"a client failed: {load.problem}")
    if not load.done:
        sys.exit("no job was answered meanwhile; the measurement is void")


def wait_for(what: str, holds: Callable[[], bool]) -> None:
    started = time.monotonic()
    while not holds():
        if time.monotonic() - started > LONGEST_S:
            sys.exit(f"timeout after {LONGEST_S:.0f} s: waited for {what}")
        time.sleep(0.01)
