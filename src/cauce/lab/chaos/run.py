"""Real faults on a real run: kills, pauses and restarts its processes at random, and compares the answers.

A seed decides fault and victim; the clock decides when.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import JobFailed
from cauce.lab.chaos.processes import PREFORK_SERVER, RUN, WORKER, Seen, family, kill, pause, resume
from cauce.process.lease_count import LEASE_COUNTS_VARIABLE
from cauce.process.starting import module_command
from cauce.process.table import shown

PAUSE_S = (0.1, 0.6)
LONGEST_RUN_S = 3600.0


@dataclass(frozen=True)
class Fault:
    """An injected fault: time, kind, victim, and the number of leases that it held."""

    at_s: float
    what: str
    who: str
    pid: int
    leases: int

    def __str__(self) -> str:
        held = f", holding {self.leases} lease{'s' * (self.leases != 1)}" if self.leases else ""
        return f"{self.at_s:7.2f} s  {self.what:<7}  {self.who} (pid {self.pid}){held}"


@dataclass
class Chaos:
    """The command `run`, or `sql`, under faults. `weights` are the relative frequencies of the faults."""

    arguments: Sequence[str]
    every_s: float
    seed: int
    report: Callable[[str], None]
    weights: tuple[tuple[str, int], ...] = (("kill", 6), ("pause", 3), (PREFORK_SERVER, 1), (RUN, 1))
    most: int = 10_000
    command: str = "run"
    least_cpu_s: float = 0.0
    """A worker is not killed before it has used so much processor time: on an overloaded machine, kills by the clock
    alone would come faster than any worker completes a part."""
    faults: list[Fault] = field(default_factory=list)
    _paused: dict[int, float] = field(default_factory=dict)

    def play(self) -> None:
        """Injects faults until the run has completed. Raises if it failed."""
        with tempfile.TemporaryDirectory(prefix="cauce-chaos-") as lease_counts:
            self._play(Path(lease_counts))

    def _play(self, lease_counts: Path) -> None:
        rng = random.Random(self.seed)
        started = time.monotonic()
        process = self._start(lease_counts)
        due = started + self.every_s
        try:
            while process.poll() is None or process.returncode < 0:
                if process.poll() is not None:
                    process = self._start(lease_counts)
                now = time.monotonic()
                self._resume_due(now)
                if now >= due and len(self.faults) < self.most:
                    injected = self._inject(rng, family(process.pid, lease_counts), now - started)
                    # A short run has workers with leases only for a moment.
                    due = now + self.every_s * rng.uniform(0.5, 1.5) if injected else now
                if now - started > LONGEST_RUN_S:
                    raise JobFailed(f"the run under faults did not end within {LONGEST_RUN_S:.0f} s")
                time.sleep(0.005)
        finally:
            for pid in self._paused:
                resume(pid)
            if process.poll() is None:
                process.kill()
        if process.returncode != 0:
            raise JobFailed(f"the run under faults ended with exit code {process.returncode}")

    def _start(self, lease_counts: Path) -> subprocess.Popen[bytes]:
        # These kills are not caused by the data, so they must not quarantine the job.
        command = module_command("cauce", self.command, *self.arguments, "--attempts", str(self.most))
        environment = {**os.environ, LEASE_COUNTS_VARIABLE: str(lease_counts)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def _resume_due(self, now: float) -> None:
        for pid, until in list(self._paused.items()):
            if now >= until:
                resume(pid)
                del self._paused[pid]

    def _inject(self, rng: random.Random, processes: list[Seen], at_s: float) -> bool:
        """Whether there was a process to kill or to pause."""
        names, weights = zip(*self.weights, strict=True)
        what: str = rng.choices(names, weights)[0]
        workers = [each for each in processes if each.role == WORKER and each.leases and self._has_worked(each)]
        others = {PREFORK_SERVER: [each for each in processes if each.role == PREFORK_SERVER], RUN: processes[:1]}
        candidates = [each for each in others.get(what, workers) if each.pid not in self._paused]
        # Before workers hold leases, a fault would only hit the loading of libraries.
        if not candidates or not workers:
            return False
        victim = rng.choice(candidates)
        if what == "pause":
            if pause(victim.pid):
                self._paused[victim.pid] = time.monotonic() + rng.uniform(*PAUSE_S)
                self._record(at_s, "pause", victim)
        elif kill(victim.pid):
            self._record(at_s, "kill", victim)
        return True

    def _has_worked(self, worker: Seen) -> bool:
        found = shown(worker.pid)
        return found is not None and found.cpu_s >= self.least_cpu_s

    def _record(self, at_s: float, what: str, victim: Seen) -> None:
        self.faults.append(Fault(at_s, what, victim.role, victim.pid, victim.leases))
        self.report(str(self.faults[-1]))


def same_answers(one: Path, other: Path) -> list[str]:
    """Names of the files that differ between two folders of answers."""
    names = sorted({path.name for folder in (one, other) for path in folder.iterdir() if path.is_file()})
    return [name for name in names if _read(one / name) != _read(other / name)]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
