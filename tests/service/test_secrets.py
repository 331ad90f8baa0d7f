"""The password of a broker is neither in the list of processes nor in the output of a service or a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from cauce.lab.broker.nodes import Nodes
from tests.cli.running import cauce
from tests.fabrics import new_namespace
from tests.service.conftest import Case
from tests.service.running import Running


def command_lines(pid: int) -> list[bytes]:
    """Of a process and of all that it has started, as every user of this machine can read them."""
    root = psutil.Process(pid)
    found = []
    for each in (root, *root.children(recursive=True)):
        try:
            found.append(Path(f"/proc/{each.pid}/cmdline").read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_no_process_of_a_service_shows_the_password(broker: Nodes, tmp_path: Path) -> None:
    """Not even if it was an argument of the command that started the service."""
    address = f"{broker.address}?namespace={new_namespace()}"
    options = ("--workers", "1", "--gateways", "1", "--doctors", "1", "--fabric", address)
    with Running(tmp_path, "serve", *options) as service:
        lines = command_lines(service.process.pid)
        assert len(lines) >= 4
        assert any(b"cauce serve" in line for line in lines)
        assert [line for line in lines if broker.layout.password.encode() in line] == []
        logs = "".join(path.read_text() for path in (service.folder / "log").iterdir())
        assert "the password in --fabric" in service.log_text()
    assert broker.layout.password not in service.log_text() + logs


def test_no_process_of_a_run_ever_shows_the_password(broker: Nodes, tmp_path: Path, case: Case) -> None:
    address = f"{broker.address}?namespace={new_namespace()}"
    command = [sys.executable, "-m", "cauce", "run", "books", "--data", str(case.data), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "CAUCE_FABRIC": address}
    lines: set[bytes] = set()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        while run.poll() is None:
            lines.update(command_lines(run.pid))
        assert run.stdout is not None
        output = run.stdout.read()
    assert run.returncode == 0, output
    password = broker.layout.password.encode()
    assert any(b"cauce worker" in line for line in lines)
    assert [line for line in (*lines, output) if password in line] == []


def test_the_address_may_come_from_a_file(
    broker: Nodes, tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fabric").write_text(f"{broker.address}?namespace={new_namespace()}\n")
    monkeypatch.setenv("CAUCE_FABRIC_FILE", str(tmp_path / "fabric"))
    outcome = cauce(tmp_path, "run", "books", "--data", str(case.data), "--queries", "q1", "--out", "out")
    assert outcome.code == 0, outcome.err
    assert not (tmp_path / "out" / ".cauce-work" / "jobs").exists()
