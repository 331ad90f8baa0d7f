"""A real `cauce run` that is caught in the middle: what its journals say, who belongs to it, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from cauce.chaos.processes import Seen, family, kill, title_of
from cauce.fabric.files import FilesFabric
from cauce.worker.journal import Journal, Past
from tests.cli.running import COLOURS, Outcome

ENOUGH_S = 60.0
BRIEF_S = 2.0


def until(what: str, holds: Callable[[], bool], within_s: float = ENOUGH_S) -> float:
    """Waits for something that is bound to happen; returns how long it took."""
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < within_s, f"{what}: not within {within_s:.0f} s"
        time.sleep(0.002)
    return time.monotonic() - started


class Run:
    """`cauce run` as a process of its own; it does not outlive the block it is opened in."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._said = folder / f"said-{time.monotonic_ns()}"
        environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cauce", "run", *arguments],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def everyone(self) -> list[Seen]:
        return family(self.process.pid)

    def workers(self) -> list[Seen]:
        """Those with work."""
        return [each for each in self.everyone() if each.role.startswith("cauce worker") and each.leases]

    def nursery(self) -> Seen | None:
        return next((each for each in self.everyone() if each.role == "nursery"), None)

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Waits while the run goes on: one that ends before cannot be caught any more."""

        def seen() -> bool:
            caught = holds()
            assert caught or self.process.poll() is None, f"the run ended before {what}: {self.said()}"
            return caught

        until(what, seen)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def end(self, within_s: float = ENOUGH_S) -> Outcome:
        """How it ends by itself."""
        code = self.process.wait(within_s)
        return Outcome(code, "", self.said())


def none_left(pids: list[int]) -> None:
    """Raises unless all of these processes are gone in a moment."""
    until(f"the end of {pids}", lambda: all(title_of(pid) is None for pid in pids), BRIEF_S)


def job_folder(work: Path) -> Path:
    (job,) = (work / "jobs").iterdir()
    return job


def journal_bytes(work: Path) -> int:
    """How much the lanes and folds of the only job have noted; 0 if there is none yet."""
    total = 0
    for path in work.glob("jobs/*/logs/journal.*/*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def journals(work: Path) -> dict[str, Past]:
    """What each task of the only job has noted."""
    logs = sorted(path.name for path in job_folder(work).glob("logs/journal.*"))
    fabric = FilesFabric(work)
    (job,) = fabric.jobs()
    pasts = {log: Journal(fabric, job, log, 0).past() or Past() for log in logs}
    fabric.close()
    return pasts


def done_parts(pasts: dict[str, Past]) -> set[tuple[str, int]]:
    return {(log, seq) for log, past in pasts.items() for seq in past.done}


def answers(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.glob("*.csv")}


def kill_all(workers: list[Seen]) -> None:
    for each in workers:
        assert kill(each.pid)
