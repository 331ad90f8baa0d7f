"""A worker's process between steps: how long it sleeps while there is nothing to do."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from cauce.datasets import load
from cauce.fabric.memory import MemoryFabric, Store
from cauce.wire.manifest import Manifest
from cauce.worker.client import create
from cauce.worker.process import LONGEST_PAUSE_S, SHORTEST_PAUSE_S, work
from cauce.worker.topology import Topology

PAUSES = 60


@pytest.fixture
def signals() -> Iterator[None]:
    """`work` takes signals over; afterwards they are as they were."""
    known = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(each) for each in known]
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for each, handler in zip(known, before, strict=True):
        signal.signal(each, handler)


@pytest.mark.usefixtures("signals")
def test_a_worker_whose_jobs_wait_for_their_upload_sleeps_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds leases and steps through their tasks, but nothing moves: that must not keep a core busy."""
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
    assert work(MemoryFabric(store), "w1", pulse=_Watching(leases)) == 0
    assert max(leases) > 0
    assert pauses[-1] == LONGEST_PAUSE_S > SHORTEST_PAUSE_S
    assert pauses == sorted(pauses)


class _Watching:
    """Notes how many leases had been taken whenever the worker could give a sign of life."""

    def __init__(self, leases: list[int]) -> None:
        self._leases = leases

    def due(self, news: int) -> bool:
        self._leases.append(news)
        return False

    def beat(self, *, progress: int, work: str) -> None:
        raise AssertionError("none was due")
