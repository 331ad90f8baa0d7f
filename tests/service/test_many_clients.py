"""Many clients at once on one service: some break off and come back, some are killed, some cancel, all others are
answered as if they were alone; and in the end nothing of any job is left."""

from __future__ import annotations

import io
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cauce.client import Service
from cauce.client.settings import Sent, Settings
from cauce.datasets import BUILT_IN, load
from cauce.lab.broker.nodes import Nodes
from cauce.lab.generators import generate
from tests.client.real import Real
from tests.e2e.comparing import assert_same
from tests.oracle.api import answer

SCALES = {"books": 0.0003, "movies": 0.001, "flights": 0.00002, "coffee": 0.0002}
SMALL = Settings(part_bytes=16_000, window=2, connections=1)
LOG_GROUPS = ("control", "home", "journal", "edges", "raw-", "lease")
MOST_KEPT = 4
"""Streams of a job that has ended, or folders: what is not needed to read its answers is gone by then."""
SOME_FILES, SOME_BYTES = 200, 40 << 20
"""What a broker may have more afterwards: its own logs, and what it remembers of them."""
MEMORY = """
    [erlang:garbage_collect(Pid) || Pid <- erlang:processes()],
    Keepers = [whereis(Name) || Name <- [ra_coordination_log_ets, ra_log_ets, seshat_counters_server]],
    Words = [ets:info(Table, memory) || Table <- ets:all(), lists:member(ets:info(Table, owner), Keepers)],
    erlang:memory(total) - lists:sum(Words) * erlang:system_info(wordsize).
"""
"""But for what RabbitMQ keeps of what is gone: its journal until that is full, and, up to 3.10.10, a counter for each
consumer that a stream ever had."""
ENOUGH_S = 300.0

SLOW_CLIENT = """
import sys, time
from cauce.client import Service
from cauce.client.settings import Settings
url, dataset, data, job, pause = sys.argv[1:]

def told(sent):
    print(sent.parts, flush=True)
    time.sleep(float(pause))

with Service(url) as service:
    small = Settings(part_bytes=16_000, window=2, connections=1)
    service.submit(dataset, data, job=job, settings=small, on_progress=told)
"""


@dataclass(frozen=True)
class Crowd:
    clients: int
    dropping: int
    killed: int
    cancelling: int
    results_s: int


HUNDRED, DOZEN = Crowd(100, 20, 10, 10, 60), Crowd(12, 3, 2, 2, 15)


class Broken(Exception):
    pass


@dataclass
class World:
    crowd: Crowd
    url: str
    data: Mapping[str, Path]
    expected: Mapping[str, dict[str, bytes]]
    killed: list[str]
    dropped: list[str]
    lock: threading.Lock


def break_off(sent: Sent) -> None:
    if sent.sent >= 1:
        raise Broken


def drop(service: Service, world: World, dataset: str, job: str) -> None:
    """Breaks an upload off in the middle."""
    try:
        service.submit(dataset, world.data[dataset], job=job, settings=SMALL, on_progress=break_off)
    except Broken:
        with world.lock:
            world.dropped.append(job)


def kill(world: World, dataset: str, job: str) -> None:
    """A client of its own process, killed when it has sent a part."""
    arguments = [world.url, dataset, str(world.data[dataset]), job, "30"]
    client = subprocess.Popen([sys.executable, "-c", SLOW_CLIENT, *arguments], stdout=subprocess.PIPE)
    assert client.stdout is not None
    assert client.stdout.readline()
    os.kill(client.pid, signal.SIGKILL)
    if client.wait() == -signal.SIGKILL:
        with world.lock:
            world.killed.append(job)
    client.stdout.close()


def client(world: World, number: int) -> tuple[str, float] | None:
    """Runs one client. Returns its dataset and its duration, or None if it cancelled."""
    dataset = BUILT_IN[number % len(BUILT_IN)]
    job, crowd = f"client-{number}", world.crowd
    with Service(world.url, patience_s=120.0) as service:
        if number < crowd.cancelling:
            drop(service, world, dataset, job)
            assert service.job(job).cancel().state == "cancelled"
            return None
        if number < crowd.cancelling + crowd.dropping:
            drop(service, world, dataset, job)
        elif number < crowd.cancelling + crowd.dropping + crowd.killed:
            kill(world, dataset, job)
        started = time.monotonic()
        made = service.submit(dataset, world.data[dataset], job=job, settings=SMALL)
        found: dict[str, bytes] = {}
        for query in load(dataset).queries:
            into = io.BytesIO()
            made.save(query, "csv", into)
            found[query] = into.getvalue()
        took = time.monotonic() - started
        into = io.BytesIO()
        made.save_rejects(into)
        if "rejects" in world.expected[dataset]:
            found["rejects"] = into.getvalue()
        assert_same(found, world.expected[dataset], f"client {number}, {dataset}")
        return dataset, took


class Counted:
    """The resources of jobs on the fabric: folders, or streams and queues, with the broker's descriptors and memory."""

    def __init__(self, jobs: Path, fabric: list[str], broker: Callable[[], Nodes]) -> None:
        self._jobs = jobs
        self._nodes = broker() if fabric else None
        self._namespace = fabric[1].partition("namespace=")[2] if fabric else ""

    def of_jobs(self) -> list[str]:
        if self._nodes is None:
            return [path.name for path in self._jobs.iterdir() if "client" in path.name]
        names = self._nodes.ctl("r1", "list_queues", "name").split()
        split = [name.split(".") for name in names if name.startswith(f"{self._namespace}.")]
        return [".".join(each) for each in split if each[2:] and each[2].startswith(LOG_GROUPS)]

    def broker(self) -> tuple[int, int]:
        """Open files, and bytes of memory in use."""
        if self._nodes is None:
            return 0, 0
        files = psutil.Process(self._nodes.pid("r1")).num_fds()
        return files, int(self._nodes.ctl("r1", "eval", MEMORY))


@pytest.mark.long
@pytest.mark.parametrize(
    ("fabric", "crowd"),
    [
        pytest.param("files", DOZEN, marks=pytest.mark.slow),
        pytest.param("rabbitmq", DOZEN, marks=pytest.mark.soak),
        pytest.param("files", HUNDRED, marks=pytest.mark.soak),
        pytest.param("rabbitmq", HUNDRED, marks=pytest.mark.soak),
    ],
    indirect=["fabric"],
    ids=lambda given: str(given.clients) if isinstance(given, Crowd) else given,
)
def test_many_clients_at_once(fabric: list[str], crowd: Crowd, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = {dataset: tmp_path / dataset for dataset in BUILT_IN}
    for dataset, folder in data.items():
        generate(dataset, folder, scale=SCALES[dataset], seed=5)
    expected = {dataset: dict(answer(dataset, folder)) for dataset, folder in data.items()}
    limits = ["--limit", f"results_seconds={crowd.results_s}", "--limit", "jobs_per_owner=200"]
    counted = Counted(tmp_path / "real" / "service" / "jobs", fabric, lambda: request.getfixturevalue("broker"))
    before = counted.broker()
    with Real(tmp_path / "real", "--workers", "2", "--gateways", "2", *limits, *fabric) as real:
        world = World(crowd, real.url, data, expected, [], [], threading.Lock())
        with ThreadPoolExecutor(crowd.clients) as pool:
            lives = list(pool.map(lambda number: client(world, number), range(crowd.clients)))
        assert len(world.killed) == crowd.killed
        assert len(world.dropped) == crowd.dropping + crowd.cancelling
        assert sum(life is None for life in lives) == crowd.cancelling
        for dataset in BUILT_IN:
            times = [life[1] for life in lives if life is not None and life[0] == dataset]
            print(f"{dataset}: the slowest takes {max(times) / statistics.median(times):.2f} of the median")  # noqa: T201
        held = len(counted.of_jobs())
        print(f"{held} folders or streams at the end; broker: {before} before, {counted.broker()} then")  # noqa: T201
        assert held <= MOST_KEPT * crowd.clients
        due = time.monotonic() + ENOUGH_S
        while left := counted.of_jobs():
            assert time.monotonic() < due, f"left behind: {left}"
            time.sleep(1)
    after = counted.broker()
    print(f"broker: {after} when all is released")  # noqa: T201
    assert after[0] <= before[0] + SOME_FILES
    assert after[1] <= before[1] + SOME_BYTES
