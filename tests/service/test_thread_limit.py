"""A gateway at the limit of threads of its control group: it answers requests, or does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Running, until

GROUPS = Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")
"""Of the first version of control groups, and of the second."""
BEFORE_POLARS = 6
"""Threads that a gateway starts before those of Polars: its own and those of the memory allocators."""


@pytest.fixture
def group() -> Iterator[Path]:
    for root in GROUPS:
        found = root / f"cauce-threads-{os.getpid()}"
        try:
            found.mkdir()
            (found / "pids.max").write_text("max")
            break
        except OSError:
            if found.is_dir():
                found.rmdir()
    else:
        pytest.skip("a control group for processes cannot be created here")
    yield found
    until("an empty control group", lambda: not (found / "cgroup.procs").read_text())
    found.rmdir()


def test_a_ready_gateway_answers_at_the_limit_of_threads(tmp_path: Path, group: Path) -> None:
    with Running(tmp_path, "gateway") as gateway:
        (group / "cgroup.procs").write_text(str(gateway.process.pid))
        assert gateway.get("/readyz").status == 200
        (group / "pids.max").write_text(str(len(os.listdir(f"/proc/{gateway.process.pid}/task"))))
        assert gateway.create("limited", queries=["q1"]).status == 201
        assert gateway.state("limited") == "created"
        assert not gateway.events("internal error"), gateway.log_text()


def test_a_gateway_that_cannot_start_threads_is_never_ready(tmp_path: Path, group: Path) -> None:
    (group / "pids.max").write_text(str(BEFORE_POLARS))

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    command = [sys.executable, "-m", "cauce", "gateway", "--dir", str(tmp_path / "service"), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, preexec_fn=join)
    assert ended.returncode != 0
    assert "ready on" not in ended.stdout
    assert "thread" in ended.stderr
