"""Processes that are identified by their ids and a mark on their command lines."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.broker import processes
from cauce.lab.broker.processes import launch, running, runs, wait_gone
from cauce.process.table import send_signal_to_pid

MARK = "613.25"
STAYS = ["sleep", MARK]


@pytest.fixture
def pid_file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "pid"
    launch(STAYS, os.environ, tmp_path / "log", file)
    yield file
    send_signal_to_pid(int(file.read_text()), signal.SIGKILL)


def test_a_process_is_found_by_its_id_and_its_mark(pid_file: Path) -> None:
    assert running(pid_file, MARK) == int(pid_file.read_text())


def test_another_process_with_a_reused_id_is_not_mistaken_for_it(pid_file: Path) -> None:
    assert running(pid_file, "another-mark") is None


def test_it_is_reparented_and_in_its_own_session(pid_file: Path) -> None:
    pid = int(pid_file.read_text())
    assert os.getsid(pid) != os.getsid(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_wait_gone_waits_for_the_exit(pid_file: Path) -> None:
    pid = int(pid_file.read_text())
    assert wait_gone([pid], MARK, patience_s=0.0) == [pid]
    send_signal_to_pid(pid, signal.SIGKILL)
    assert wait_gone([pid], MARK, patience_s=60.0) == []
    assert running(pid_file, MARK) is None


def test_a_signal_to_an_exited_process_is_no_error() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    send_signal_to_pid(ended.pid, signal.SIGTERM)


def test_a_zombie_does_not_run() -> None:
    ended = subprocess.Popen(["/bin/sh", "-c", ": " + MARK])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not runs(ended.pid, MARK)
    ended.wait()


def test_a_pid_file_without_an_id_means_no_process(tmp_path: Path) -> None:
    assert running(tmp_path / "none", MARK) is None
    (tmp_path / "half").write_text("")
    assert running(tmp_path / "half", MARK) is None


def test_its_output_is_written_to_its_log(tmp_path: Path) -> None:
    launch(["/bin/sh", "-c", f"echo said; echo cried >&2; : {MARK}"], os.environ, tmp_path / "log", tmp_path / "pid")
    wait_gone([int((tmp_path / "pid").read_text())], MARK, patience_s=60.0)
    assert (tmp_path / "log").read_text().split() == ["said", "cried"]


def test_descriptors_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "DESCRIPTORS", 123)
    launch(["/bin/sh", "-c", f"ulimit -S -n; : {MARK}"], os.environ, tmp_path / "log", tmp_path / "pid")
    wait_gone([int((tmp_path / "pid").read_text())], MARK, patience_s=60.0)
    assert (tmp_path / "log").read_text() == "123\n"
