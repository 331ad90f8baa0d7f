"""A service under measurement: its processes, its timeline, and clients that keep it at work and check every answer."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.serving import serving
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
        self.home = ServiceDir(folder)
        self.url = url
        self._fabric = open_fabric(self.home.cluster().fabric)
        self._timeline = EventLog(self._fabric)

    def alive(self) -> dict[str, ObservedProcess]:
        return {each.name: each for each in self.home.running_processes()}

    def well(self, size: int) -> bool:
        with QueryClient(self.home.cluster()) as client:
            view = client.status()
        return (
            view is not None
            and view.leads
            and len(view.rows) == size
            and all(row.state == "running" and row.ready for row in view.rows)
        )

    def events(self) -> list[Event]:
        return self._timeline.read()

    def close(self) -> None:
        self._fabric.close()


class Clients:
    """Submit the same files over and over; the answers must never differ."""

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
                except Exception as problem:  # noqa: BLE001  (whatever it is, it is what was to be found out)
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
    """A service with clients that are at work. Ends with an error if any answer was another than the first."""
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
        sys.exit(f"a client met this: {load.problem}")
    if not load.done:
        sys.exit("no job was answered meanwhile: nothing was proven")


def wait_for(what: str, holds: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > LONGEST_S:
            sys.exit(f"{what}: not within {LONGEST_S:.0f} s")
        time.sleep(0.01)
