"""A service or gateway process for a measurement, on a free loopback port. It is terminated at the end of the block."""

from __future__ import annotations

import re
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cauce.errors import JobFailed
from cauce.process.starting import module_command

READY_S = 60.0


@dataclass(frozen=True)
class ServerProcess:
    url: str
    pid: int

    def cpu_s(self) -> float:
        """Processor time so far of all running processes of the service."""
        return cpu_of([self.pid])


def cpu_of(pids: Sequence[int]) -> float:
    """Processor time so far of processes and all their descendants."""
    total = 0.0
    for pid in pids:
        try:
            root = psutil.Process(pid)
            family = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for each in family:
            try:
                times = each.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
    return total


@contextmanager
def serving(what: str, folder: Path, options: Sequence[str] = ()) -> Iterator[ServerProcess]:
    """`what` is the command: serve or gateway."""
    command = module_command("cauce", what, "--dir", str(folder), "--port", "0", *options)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        try:
            yield ServerProcess(_address(process, what), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(READY_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _address(process: subprocess.Popen[bytes], what: str) -> str:
    assert process.stdout is not None
    due = time.monotonic() + READY_S
    output = b""
    while (found := re.search(rb"ready on (\S+)\n", output)) is None:
        readable, _, _ = select.select([process.stdout], [], [], max(due - time.monotonic(), 0))
        more = process.stdout.read1(4096) if readable else b""  # type: ignore[attr-defined]
        if not more:
            raise JobFailed(f"cauce {what} did not start; run it in a terminal to see the cause")
        output += more
    return found[1].decode()
