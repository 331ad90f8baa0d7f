"""Nodes stop with the last process that uses them, however it exited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cauce.lab.broker.nodes import existing
from tests.broker_guardian import PID, become_user, guard, guarded
from tests.brokers import require_rabbitmq
from tests.lab.broker.looking import living, open_ports, processes_of

USER = """
import sys
from pathlib import Path
from tests.broker_guardian import become_user, guard
from cauce.lab.broker.nodes import start

folder = Path(sys.argv[1])
held = become_user(folder)
guard(folder, folder / "nodes")
if "start" in sys.argv:
    start(folder / "nodes")
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def user(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", USER, str(folder), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = existing(tmp_path / "nodes")
    if left is not None:
        left.stop(gently=False)


def guardian(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / PID).read_text()))


def test_a_guardian_exits_with_the_last_user(folder: Path) -> None:
    first, second = user(folder), user(folder)
    watching = guardian(folder)
    first.kill()
    first.wait()
    assert watching.is_running()
    assert guarded(folder)
    second.communicate("")
    assert living([watching]) == []
    assert not guarded(folder)


def test_one_guardian_is_enough(folder: Path) -> None:
    with become_user(folder):
        guard(folder, folder / "nodes")
        first = guardian(folder)
        guard(folder, folder / "nodes")
        assert guardian(folder) == first
    assert living([first]) == []


def test_ctrl_c_does_not_reach_a_guardian(folder: Path) -> None:
    with become_user(folder):
        guard(folder, folder / "nodes")
        watching = guardian(folder)
        assert os.getsid(watching.pid) != os.getsid(0)
    assert living([watching]) == []


@pytest.mark.slow
def test_nodes_stop_when_their_user_is_killed(folder: Path) -> None:
    require_rabbitmq()
    process = user(folder, "start")
    nodes = existing(folder / "nodes")
    assert nodes is not None
    before = [*processes_of(nodes), guardian(folder)]
    assert len(before) > 3
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert living(before) == []
    assert open_ports(nodes) == []
    assert not list(folder.glob("nodes/*/data"))
    assert nodes.place.log(nodes.node("r1")).is_file()
