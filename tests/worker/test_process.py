"""The worker process: its sleep when idle, and its heartbeats."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from cauce.datasets import load
from cauce.fabric.memory import MemoryFabric, Store
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.process.progress import tick
from cauce.runner.local_client import create
from cauce.worker.loop import Worker
from cauce.worker.process import (
    LEASES_SHARE,
    LONGEST_PAUSE_S,
    MOST_PAUSE_S,
    SHORTEST_PAUSE_S,
    idle_pause_s,
    work,
)

PAUSES = 250


@pytest.fixture
def signals() -> Iterator[None]:
    """Restores the signal handlers that `work` replaces."""
    known = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(each) for each in known]
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for each, handler in zip(known, before, strict=True):
        signal.signal(each, handler)


@pytest.mark.usefixtures("signals")
def test_a_worker_whose_jobs_wait_for_their_upload_backs_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds leases and steps through their tasks without progress: that must not keep a core busy."""
    store = Store()
    plan = load("coffee").plan()
    create(
        MemoryFabric(store), Manifest("waits", "coffee", tuple(plan.results), {}, 2, 2, plan.digest), Topology(plan, 2)
    )
    pauses: list[float] = []
    leases: list[int] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == PAUSES:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("cauce.worker.process.time.sleep", sleep)
    assert work(MemoryFabric(store), "w1", heartbeat_sender=_Watching(leases)) == 0
    assert max(leases) > 0
    growing = [each for each in pauses if each < LONGEST_PAUSE_S]
    assert growing == pauses[: len(growing)] == sorted(growing)
    assert LONGEST_PAUSE_S <= pauses[-1] <= MOST_PAUSE_S


@pytest.mark.parametrize(
    ("pause_s", "polled_s", "expected_s"),
    [
        pytest.param(SHORTEST_PAUSE_S, 1.0, SHORTEST_PAUSE_S, id="work a moment ago"),
        pytest.param(LONGEST_PAUSE_S, 0.0005, LONGEST_PAUSE_S, id="few tasks"),
        pytest.param(LONGEST_PAUSE_S, 0.003, 0.15, id="many tasks"),
        pytest.param(LONGEST_PAUSE_S, 1.0, MOST_PAUSE_S, id="very many tasks"),
    ],
)
def test_polling_takes_a_small_share_of_a_processor(pause_s: float, polled_s: float, expected_s: float) -> None:
    assert idle_pause_s(pause_s, polled_s) == pytest.approx(expected_s)


@pytest.mark.usefixtures("signals")
def test_a_worker_holds_leases_for_a_share_of_the_files_that_it_may_open(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    plan = load("coffee").plan()
    for job in ("one", "two"):
        create(
            MemoryFabric(store), Manifest(job, "coffee", tuple(plan.results), {}, 2, 2, plan.digest), Topology(plan, 2)
        )
    held: list[int] = []

    class Recorded(Worker):
        def step(self) -> bool:
            moved = super().step()
            held.append(self.leases)
            if len(held) == 200:
                os.kill(os.getpid(), signal.SIGTERM)
            return moved

    monkeypatch.setattr("cauce.worker.process.Worker", Recorded)
    monkeypatch.setattr("cauce.worker.process.raise_file_limit", lambda: 4 * LEASES_SHARE)
    assert work(MemoryFabric(store), "w1") == 0
    assert max(held) == 4


class _Watching:
    """Records the number of acquired leases whenever the worker could send a heartbeat."""

    def __init__(self, leases: list[int]) -> None:
        self._leases = leases

    def due(self, news: int) -> bool:
        self._leases.append(news)
        return False

    def beat(self, *, progress: int, work: str) -> None:
        raise AssertionError("none was due")


@pytest.mark.usefixtures("signals")
def test_slices_of_a_step_send_heartbeats_and_count_as_progress() -> None:
    """A long step does not count as hung while its slices continue."""
    beats: list[int] = []

    class Slow(MemoryFabric):
        def jobs(self) -> list[str]:
            for _ in range(3):
                tick()
            os.kill(os.getpid(), signal.SIGTERM)
            return []

    work(Slow(), "w1", heartbeat_sender=_Beating(beats))
    assert beats == sorted(set(beats)), "each beat tells of more progress"
    assert len(beats) >= 3


class _Beating:
    """Wants a heartbeat at every opportunity."""

    def __init__(self, beats: list[int]) -> None:
        self._beats = beats

    def due(self, news: int) -> bool:
        return True

    def beat(self, *, progress: int, work: str) -> None:
        self._beats.append(progress)


def test_a_tick_without_a_worker_does_nothing() -> None:
    tick()
