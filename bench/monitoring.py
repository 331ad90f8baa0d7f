"""The cost of monitoring: `python -m bench.monitoring [--dataset books] [--scale 0.1] [--rounds 15]`.

Compares two services. In one, workers append task statistics, the dashboard's event streams of all jobs and of the
running job are open, and Prometheus scrapes every second; in the other, none of this. Both run the same jobs, in an
order that alternates. The ratio is the median of the ratios of all rounds. Aim: at most 1.01.

Absolute times are not comparable on a shared machine. So two costs are also measured separately: the additional
processor time of gateways for the streams, and the share of a worker's processor time for task statistics.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import urllib3

from bench.server_process import ServerProcess, serving
from cauce.client import Service
from cauce.datasets import BUILT_IN, load
from cauce.fabric.memory import MemoryFabric, Store
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.lab.generators import generate
from cauce.runner.local_client import Collect, Upload, create
from cauce.runner.sinks import Memory, Prepared, prepare
from cauce.worker.loop import Worker
from cauce.worker.process import STATS_VARIABLE
from cauce.worker.stats import Stats
from cauce.worker.tasks.factory import make_task
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.limits import Limits
from cauce.worker.tasks.task import Step, Task

AIM = 1.01
SCRAPE_S = 1.0
CHUNK = 1 << 16
STEPS = 200_000


@dataclass
class Rounds:
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    gateways_s: list[float] = field(default_factory=list)
    """Processor time of the gateways only."""


class Watchers:
    """The requests of one open dashboard page and of a monitoring system that scrapes every second."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = urllib3.PoolManager(maxsize=8, retries=False)
        self._stopped = threading.Event()
        self.bytes = 0
        threading.Thread(target=self._follow, args=("/v1/events",), daemon=True).start()
        threading.Thread(target=self._scrape, daemon=True).start()

    def job(self, job: str) -> None:
        threading.Thread(target=self._follow, args=(f"/v1/jobs/{job}/events?graph=true",), daemon=True).start()

    def _follow(self, path: str) -> None:
        try:
            response = self._http.request("GET", self._url + path, preload_content=False)
            for chunk in response.stream(CHUNK):
                self.bytes += len(chunk)
                if self._stopped.is_set():
                    return
        except urllib3.exceptions.HTTPError:
            # The service has stopped.
            return

    def _scrape(self) -> None:
        while not self._stopped.wait(SCRAPE_S):
            try:
                self.bytes += len(self._http.request("GET", f"{self._url}/metrics").data)
            except urllib3.exceptions.HTTPError:
                return

    def stop(self) -> None:
        self._stopped.set()


@contextmanager
def without_stats() -> Iterator[None]:
    """Processes that are started in this block append no task statistics."""
    os.environ[STATS_VARIABLE] = "off"
    try:
        yield
    finally:
        del os.environ[STATS_VARIABLE]


def run(service: ServerProcess, dataset: str, data: Path, job: str, watchers: Watchers | None, into: Rounds) -> None:
    cpu_s, gateways_s = service.cpu_s(), cpu_of_gateways(service)
    started = time.monotonic()
    with Service(service.url) as client:
        sent = client.submit(dataset, data, job=job, wait=False)
        if watchers is not None:
            watchers.job(job)
        sent.wait()
        into.wall_s.append(time.monotonic() - started)
        into.cpu_s.append(service.cpu_s() - cpu_s)
        into.gateways_s.append(cpu_of_gateways(service) - gateways_s)
        sent.cancel()


def cpu_of_gateways(service: ServerProcess) -> float:
    total = 0.0
    for child in psutil.Process(service.pid).children(recursive=True):
        try:
            if child.cmdline() and child.cmdline()[0].startswith("cauce gateway"):
                times = child.cpu_times()
                total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


class CountedStats(Stats):
    """Counts the timed steps, and the processor time of appending statistics."""

    steps = 0
    appending_s = 0.0

    def step(self, job: str, task: Task) -> Step:
        self.steps += 1
        return super().step(job, task)

    def append_due(self) -> None:
        began = time.process_time()
        super().append_due()
        self.appending_s += time.process_time() - began


class Idle(Task):
    """A task whose steps do nothing."""

    def __init__(self, like: Task) -> None:
        super().__init__(like.context, like.spec)

    def step(self) -> Step:
        return Step.PROGRESS


def run_in_process(prepared: Prepared) -> tuple[float, CountedStats, Task]:
    """Runs a whole job with one worker in this process, on the memory fabric. Returns its processor time, its
    statistics and an idle copy of one of its tasks."""
    fabric = MemoryFabric(Store())
    topology = Topology(prepared.plan, 2)
    plan = prepared.plan
    manifest = Manifest("job", plan.dataset, tuple(plan.results), {}, 2, 2, plan.digest, owner="bench")
    create(fabric, manifest, topology)
    upload = Upload(fabric, "job", topology, prepared.files)
    while upload.step():
        pass
    collect = Collect(fabric, "job", topology, Memory())
    stats = CountedStats(fabric)
    worker = Worker(fabric, plans={"job": plan}, stats=stats)
    started = time.process_time()
    while not collect.complete:
        worker.step()
        collect.step()
    taken_s = time.process_time() - started
    context = JobContext(fabric, "job", topology, lambda size: np.empty(size, np.uint8), Limits())
    return taken_s, stats, Idle(make_task(context, topology.tasks[0]))


def stats_share(prepared: Prepared) -> float:
    """The share of a worker's processor time that is spent on statistics: timing each step, measured on steps that do
    nothing, and appending the records."""
    taken_s, counted, task = run_in_process(prepared)
    stats = Stats(MemoryFabric(Store()))
    marks = [time.process_time()]
    for step in (task.step, lambda: stats.step("job", task)):
        for _ in range(STEPS):
            step()
        marks.append(time.process_time())
    step_s = (marks[2] - marks[1] - (marks[1] - marks[0])) / STEPS
    return (counted.steps * step_s + counted.appending_s) / taken_s


def ratio(watched: Sequence[float], plain: Sequence[float]) -> tuple[float, float, float]:
    """The median of the rounds' ratios, and both quartiles."""
    found = sorted(one / other for one, other in zip(watched, plain, strict=True))
    quarter = len(found) // 4
    return statistics.median(found), found[quarter], found[-1 - quarter]


def measure(dataset: str, data: Path, folder: Path, workers: int, rounds: int) -> tuple[Rounds, Rounds, int]:
    options = ["--workers", str(workers), "--gateways", "1"]
    watched, plain = Rounds(), Rounds()
    with (
        serving("serve", folder / "watched", options) as monitored,
        without_stats(),
        serving("serve", folder / "plain", options) as alone,
    ):
        watchers = Watchers(monitored.url)
        for number in range(rounds + 1):
            # The first round is a warm-up.
            into = (watched, plain) if number else (Rounds(), Rounds())
            turns = [(monitored, watchers, into[0]), (alone, None, into[1])]
            for service, open_page, taken in turns if number % 2 else turns[::-1]:
                run(service, dataset, data, f"job-{number}", open_page, taken)
        watchers.stop()
    return watched, plain, watchers.bytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.monitoring", description=__doc__)
    parser.add_argument("--dataset", choices=BUILT_IN, default="books")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch, "data")
        generate(given.dataset, data, scale=given.scale, seed=1)
        watched, plain, asked = measure(given.dataset, data, Path(scratch), given.workers, given.rounds)
        prepared = prepare(load(given.dataset), data)
        stats_time = statistics.median(stats_share(prepared) for _ in range(5))
    sys.stdout.write(
        f"{given.rounds} rounds, a job of {statistics.median(plain.wall_s):.2f} s; "
        f"streams and metrics transferred {asked / 1e3:.0f} kB\n"
    )
    for what, one, other in (("time", watched.wall_s, plain.wall_s), ("CPU", watched.cpu_s, plain.cpu_s)):
        middle, low, high = ratio(one, other)
        sys.stdout.write(f"{what}, with monitoring ÷ without: {middle:.3f} (quartiles {low:.3f} to {high:.3f})\n")
    more_s = statistics.median(watched.gateways_s) - statistics.median(plain.gateways_s)
    a_second = more_s / statistics.median(watched.wall_s)
    cores = os.cpu_count() or 1
    sys.stdout.write(
        f"gateways: {a_second * 1e3:.1f} ms additional processor time per second, "
        f"{a_second / cores:.2%} of {cores} cores\n"
    )
    sys.stdout.write(f"workers: {stats_time:.2%} of their processor time is spent on task statistics\n")
    sys.stdout.write(f"aim: {AIM:.2f} at most\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
