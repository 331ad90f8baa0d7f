"""A real `cauce run` that is observed while it runs: its journals, its processes, and its outcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.names import Log
from cauce.lab.chaos.processes import PREFORK_SERVER, WORKER, Seen, family, kill
from cauce.process.lease_count import LEASE_COUNTS_VARIABLE
from cauce.process.table import command_line
from cauce.worker.journal import Journal, JournalState
from tests.cli.running import COLOURS, Outcome

ENOUGH_S = 60.0
BRIEF_S = 2.0


def until(what: str, holds: Callable[[], bool], within_s: float = ENOUGH_S) -> float:
    """Waits for a condition; returns how long it took."""
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < within_s, f"{what}: not within {within_s:.0f} s"
        time.sleep(0.002)
    return time.monotonic() - started


class Run:
    """`cauce run` as a separate process. It is killed at the end of the `with` block."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._stderr_path = folder / f"stderr-{time.monotonic_ns()}"
        self._lease_counts = folder / "lease-counts"
        self._lease_counts.mkdir(exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
        environment[LEASE_COUNTS_VARIABLE] = str(self._lease_counts)
        with self._stderr_path.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cauce", "run", *arguments],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def everyone(self) -> list[Seen]:
        return family(self.process.pid, self._lease_counts)

    def workers(self) -> list[Seen]:
        """Workers that hold leases."""
        return [each for each in self.everyone() if each.role == WORKER and each.leases]

    def prefork_server(self) -> Seen | None:
        return next((each for each in self.everyone() if each.role == PREFORK_SERVER), None)

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Waits for a condition while the run is in progress; fails if it exits before."""

        def seen() -> bool:
            caught = holds()
            assert caught or self.process.poll() is None, f"the run ended before {what}: {self.stderr()}"
            return caught

        until(what, seen)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stderr(self) -> str:
        return self._stderr_path.read_text(encoding="utf-8")

    def end(self, within_s: float = ENOUGH_S) -> Outcome:
        """Waits for the exit of the run and returns its outcome."""
        code = self.process.wait(within_s)
        return Outcome(code, "", self.stderr())


def none_left(pids: list[int]) -> None:
    """Raises unless all of these processes exit within a moment."""
    until(f"the end of {pids}", lambda: not any(map(command_line, pids)), BRIEF_S)


def job_folder(work: Path) -> Path:
    (job,) = (work / "jobs").iterdir()
    return job


def journal_bytes(work: Path) -> int:
    """The number of journal bytes of the only job; 0 if there is none yet."""
    total = 0
    for path in work.glob("jobs/*/logs/journal.*/*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def journals(work: Path) -> dict[str, JournalState]:
    """The journal of each task of the only job."""
    logs = sorted(path.name for path in job_folder(work).glob("logs/journal.*"))
    fabric = FilesFabric(work)
    (job,) = fabric.jobs()
    pasts = {log: Journal(fabric, job, Log.decode(log), 0).replay() or JournalState() for log in logs}
    fabric.close()
    return pasts


def done_parts(pasts: dict[str, JournalState]) -> set[tuple[str, int]]:
    return {(log, seq) for log, past in pasts.items() for seq in past.done}


def answers(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.glob("*.csv")}


def kill_all(workers: list[Seen]) -> None:
    for each in workers:
        assert kill(each.pid)
