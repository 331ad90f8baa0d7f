"""Runs commands side by side: in turn, several rounds, with wall time, CPU time and peak memory of each."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

POLL_S = 0.02


@dataclass
class Measured:
    """The rounds of one command."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        return statistics.median(self.wall_s)

    @property
    def peak_mb(self) -> float:
        return max(self.peak_bytes) / 1e6


def side_by_side(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Measured]:
    """Every command once a round, the rounds one after the other, so that noise falls on all alike.

    Memory is watched in a round of its own: to sum up what processes share takes the kernel so long that it
    would slow down those that are many.
    """
    results = {name: Measured() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            _timed(name, command, results[name])
    for name, command in commands.items():
        results[name].peak_bytes.append(_run(name, command, _watch))
    return results


def _timed(name: str, command: Sequence[str], into: Measured) -> None:
    before = os.times()
    started = time.monotonic()
    _run(name, command, lambda process: process.wait())
    into.wall_s.append(time.monotonic() - started)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    into.cpu_s.append(used)


def _run(name: str, command: Sequence[str], follow: Callable[[subprocess.Popen[bytes]], int]) -> int:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        outcome = follow(process)
        if process.returncode != 0:
            said.seek(0)
            words = said.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{name} failed with {process.returncode}: {words}")
    return outcome


def _watch(process: subprocess.Popen[bytes]) -> int:
    """The largest sum of what the process and its children hold: private memory, and a share of what they share."""
    peak = 0
    root = psutil.Process(process.pid)
    while process.poll() is None:
        peak = max(peak, _held(root))
        time.sleep(POLL_S)
    return peak


def _held(root: psutil.Process) -> int:
    held = 0
    try:
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in family:
        try:
            held += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, ProcessLookupError):
            continue
    return held


def report(results: Mapping[str, Measured], base: str) -> str:
    """A Markdown table of ratios to one of the commands. Times alone say little on a shared machine."""
    lines = ["| what | time, ratio | CPU, ratio | peak MB | rounds (s) |", "|---|---|---|---|---|"]
    reference = results[base]
    for name, result in results.items():
        cpu = statistics.median(result.cpu_s) / statistics.median(reference.cpu_s)
        rounds = " ".join(f"{each:.2f}" for each in result.wall_s)
        ratio = result.median_s / reference.median_s
        lines.append(f"| {name} | {ratio:.2f} | {cpu:.2f} | {result.peak_mb:.0f} | {rounds} |")
    return "\n".join(lines)


def warm(folder: Path) -> None:
    """Brings the files into the page cache, so that the first command does not pay for the disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(2**24):
                    pass
