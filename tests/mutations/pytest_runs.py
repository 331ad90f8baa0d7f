"""Runs tests in the copy, in a process of their own, and returns the outcome of each."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cauce.process.table import children_of, own_pid
from tests.mutations.report_plugin import REPORT_VARIABLE

_PR_SET_CHILD_SUBREAPER = 36
_OUTPUT_BYTES = 4000


@dataclass(frozen=True)
class Phase:
    """The outcome of one phase of a test: `setup`, `call`, `teardown`, or `collect` of a file."""

    node: str
    phase: str
    outcome: str
    exception: str = ""
    message: str = ""

    def is_of(self, test: str) -> bool:
        """Whether it belongs to a node id, or to one that continues it with parameters."""
        return self.node == test or self.node.startswith(f"{test}[")


@dataclass(frozen=True)
class PytestRun:
    """A run of pytest. `exit_code` is None if it was stopped at the timeout."""

    exit_code: int | None
    seconds: float
    phases: tuple[Phase, ...]
    output: str

    def passed(self, test: str) -> bool:
        """Whether at least one test of this node id ran, and all of them passed in all phases."""
        phases = [each for each in self.phases if each.is_of(test)]
        return any(each.phase == "call" for each in phases) and all(each.outcome == "passed" for each in phases)

    def call_failures(self, test: str) -> list[Phase]:
        return [each for each in self.phases if each.is_of(test) and (each.phase, each.outcome) == ("call", "failed")]


def adopt_orphans() -> None:
    """Makes processes whose parent exits children of this process, so that none outlives a run of tests."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_tests(folder: Path, scratch: Path, tests: Sequence[str], timeout_s: float) -> PytestRun:
    report, output = scratch / "report.jsonl", scratch / "output.txt"
    report.write_text("")
    options = ["-q", "-p", "tests.mutations.report_plugin", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    # Python 3.11 may fail to parse the source for pytest's own tracebacks.
    options.append("--tb=native")
    command = [sys.executable, "-m", "pytest", *options, f"--basetemp={scratch / 'tests'}", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), REPORT_VARIABLE: str(report)}
    started = time.monotonic()
    with output.open("wb") as file:
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            code: int | None = child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            code = None
        finally:
            _kill_children()
    phases = tuple(Phase(**json.loads(line)) for line in report.read_text(encoding="utf-8").splitlines())
    text = output.read_bytes()[-_OUTPUT_BYTES:].decode(errors="replace")
    return PytestRun(code, time.monotonic() - started, phases, text)


def _kill_children() -> None:
    """Kills all processes that a run has left. They are children of this process, which has no others."""
    while children := children_of(own_pid()):
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
