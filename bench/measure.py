"""Measures commands: several rounds in turn, with wall time, CPU time and peak memory of each."""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
"""The working directory of commands, so that they can import this package."""

POLL_S = 0.02
LONGEST_RUN_S = 2 * 3600.0
LINGER_S = 10.0
ERROR_CHARACTERS = 2000
PR_SET_CHILD_SUBREAPER = 36


class CommandFailed(Exception):
    """A command failed or timed out. The message contains the end of its error output."""


@dataclass
class Measured:
    """The measurements of one command, by round."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        return statistics.median(self.wall_s)

    @property
    def median_cpu_s(self) -> float:
        return statistics.median(self.cpu_s)

    @property
    def peak_mb(self) -> float:
        """Zero if memory was not sampled."""
        return max(self.peak_bytes, default=0) / 1e6


def side_by_side(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Measured]:
    """Runs every command once per round, so that noise affects all of them.

    Memory is sampled in an additional round: computing shared memory is slow in the kernel, and would slow down
    commands with many processes.
    """
    results = {name: Measured() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            timed(command, results[name])
    for name, command in commands.items():
        watched(command, results[name])
    return results


def timed(command: Sequence[str], into: Measured) -> None:
    """Runs a command and records its wall time, and the processor time of all processes it started."""
    _adopt_orphans()
    before = os.times()
    started = time.monotonic()
    _run(command, _wait)
    into.wall_s.append(time.monotonic() - started)
    _reap_orphans()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    into.cpu_s.append(used)


def watched(command: Sequence[str], into: Measured) -> None:
    """Runs a command and records the peak memory of its process tree."""
    _adopt_orphans()
    into.peak_bytes.append(_run(command, _watch))
    _reap_orphans()


def _run(command: Sequence[str], follow: Callable[[subprocess.Popen[bytes]], int]) -> int:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT)
        try:
            outcome = follow(process)
        except BaseException:
            _end(process)
            raise
        if process.returncode != 0:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()[-ERROR_CHARACTERS:]
            raise CommandFailed(f"{' '.join(command)} exited with code {process.returncode}: {text}")
    return outcome


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(LONGEST_RUN_S)
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"the command did not end within {LONGEST_RUN_S:.0f} s") from None


def _watch(process: subprocess.Popen[bytes]) -> int:
    """The peak memory of the process tree: private memory, and a proportional share of shared memory (PSS)."""
    peak = 0
    root = psutil.Process(process.pid)
    started = time.monotonic()
    while process.poll() is None:
        peak = max(peak, _tree_bytes(root))
        time.sleep(POLL_S)
        if time.monotonic() - started > LONGEST_RUN_S:
            raise CommandFailed(f"the command did not end within {LONGEST_RUN_S:.0f} s")
    return peak


def _tree_bytes(root: psutil.Process) -> int:
    total = 0
    try:
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in family:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, ProcessLookupError):
            continue
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills a command and all its descendants."""
    if process.poll() is not None:
        return
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for member in family:
        if member.is_running():
            member.kill()
    process.wait()


def _adopt_orphans() -> None:
    """Makes this process the parent of orphaned descendants, so that their processor time is counted here.

    Examples are the workers of Cauce and the Java virtual machine of PySpark.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap_orphans() -> None:
    """Waits for processes that a command left behind, and kills those that do not end in time."""
    due = time.monotonic() + LINGER_S
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(POLL_S)
        if time.monotonic() > due:
            for orphan in psutil.Process().children():
                orphan.kill()


def report(results: Mapping[str, Measured], base: str) -> str:
    """A Markdown table of ratios to one of the commands. Absolute times are not comparable on a shared machine."""
    lines = ["| what | time, ratio | CPU, ratio | peak MB | rounds (s) |", "|---|---|---|---|---|"]
    reference = results[base]
    for name, result in results.items():
        cpu = result.median_cpu_s / reference.median_cpu_s
        ratio = result.median_s / reference.median_s
        lines.append(f"| {name} | {ratio:.2f} | {cpu:.2f} | {result.peak_mb:.0f} | {rounds_of(result)} |")
    return "\n".join(lines)


def rounds_of(result: Measured) -> str:
    return " ".join(f"{each:.2f}" for each in result.wall_s)


def warm(folder: Path) -> None:
    """Reads the files into the page cache, so that the first command is not slower than the others."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(2**24):
                    pass
