"""Faults on a run: which workers may be killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cauce.lab.chaos.processes import RUN, WORKER, Seen
from cauce.lab.chaos.run import Chaos

KILLS = (("kill", 1),)


@pytest.fixture
def worker() -> Iterator[Seen]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield Seen(process.pid, WORKER, leases=1)
    process.kill()
    process.wait()


@pytest.mark.parametrize(("least_cpu_s", "kills"), [(0.0, 1), (1000.0, 0)])
def test_a_worker_is_killed_only_after_it_has_used_enough_processor_time(
    worker: Seen, least_cpu_s: float, kills: int
) -> None:
    chaos = Chaos([], 1.0, 0, lambda line: None, KILLS, least_cpu_s=least_cpu_s)
    injected = chaos._inject(random.Random(0), [Seen(1, RUN, leases=0), worker], at_s=0.0)
    assert (injected, len(chaos.faults)) == (bool(kills), kills)
