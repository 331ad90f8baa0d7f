"""Faults of a service: they hit processes of the machine, and leave one of them running."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.messages import ObservedProcess
from cauce.lab.chaos.service import ALL, KILL, PAUSE, Faults, Tally
from cauce.process.table import start_of

NAMES = ("doctor-1", "gateway-1", "worker-1")


@dataclass
class Processes(ServiceDir):
    """A service of processes that only sleep."""

    sleeping: dict[str, subprocess.Popen[bytes]]

    def running_processes(self) -> list[ObservedProcess]:
        alive = {name: each for name, each in self.sleeping.items() if each.poll() is None}
        return [ObservedProcess(name, (1, name, 1), each.pid, start_of(each.pid) or 0) for name, each in alive.items()]

    def kill_now(self, name: str) -> None:
        self.sleeping[name].kill()
        self.sleeping[name].wait()


@pytest.fixture
def home() -> Iterator[Processes]:
    made = Processes({name: subprocess.Popen(["sleep", "600"]) for name in NAMES})
    yield made
    for name in NAMES:
        made.kill_now(name)


def inject(home: Processes, kind: str, times: int) -> Faults:
    faults = Faults(home, Tally(lambda line, style: None), 1.0, random.Random(1), ((kind, 1),))
    for _ in range(times):
        alive = home.running_processes()
        faults._inject(kind, alive)
        if kind != PAUSE:
            for each in alive:
                reap(home.sleeping[each.name])
    return faults


def reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        return


def test_all_but_one_leaves_one(home: Processes) -> None:
    assert inject(home, ALL, 1).tally.hit.total() == 2
    assert len(home.running_processes()) == 1


@pytest.mark.parametrize("kind", [KILL, ALL])
def test_the_last_process_is_never_killed(home: Processes, kind: str) -> None:
    assert inject(home, kind, 6).tally.hit.total() == 2
    assert len(home.running_processes()) == 1


def test_the_last_process_that_is_not_stopped_is_never_stopped(home: Processes) -> None:
    faults = inject(home, PAUSE, 30)
    stopped = {each.pid for _, each in faults._stopped}
    assert len(stopped) == 2
    faults._resume_due(float("inf"))
