"""The processes of a deployment, started with the written arguments, form a working service.

The test provides what a platform would: folders, addresses of this machine, the key's file.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.status import ClusterStatus
from cauce.doctor.query import QueryClient
from cauce.errors import FabricError, FabricLost
from cauce.fabric.address import Tls, parse
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.lab.deploy.broker import permissions
from cauce.lab.deploy.compose import known
from cauce.lab.deploy.deployment import deploy
from cauce.lab.deploy.plan import DOCTOR_PORT, HTTP_PORT, Plan
from tests.brokers import require_rabbitmq
from tests.cli.running import cauce
from tests.lab.deploy.conftest import PACKAGE
from tests.lab.deploy.deployed_node import DeployedNode, running
from tests.lab.deploy.reading import Process, Written

LONGEST_S = 120
PLAN = Plan(workers=1, gateways=1, doctors=3)
STATE, DIRECTORY = "/var/lib/cauce", "service"
KEY_FILE = "/run/secrets/cluster-key"
DOCTORS = ("doctor-1", "doctor-2", "doctor-3")


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(type=kind) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Machine:
    """Replaces the platform: every container is a folder, and every host is this machine."""

    def __init__(self, folder: Path, written: Written, fabric: str) -> None:
        self.written = written
        self.folder = folder
        self.http = free_port(socket.SOCK_STREAM)
        self._doctors = {host: free_port(socket.SOCK_DGRAM) for host in DOCTORS}
        secrets = known(self.written.folder)
        assert secrets is not None
        (folder / "key").write_text(secrets.key)
        (folder / "fabric").write_text(fabric)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    def state(self, name: str) -> Path:
        return self.folder / name

    def arguments(self, process: Process) -> list[str]:
        replaced = {
            STATE: str(self.state(process.name)),
            KEY_FILE: str(self.folder / "key"),
            f"0.0.0.0:{DOCTOR_PORT}": f"127.0.0.1:{self._doctors.get(process.name, 0)}",
            "0.0.0.0": "127.0.0.1",
            **{f"={host}:{DOCTOR_PORT}": f"=127.0.0.1:{port}" for host, port in self._doctors.items()},
        }
        found = [str(self.http) if each == str(HTTP_PORT) else each for each in process.arguments]
        for before, after in replaced.items():
            found = [each.replace(before, after) for each in found]
        return found

    @contextmanager
    def running(self, process: Process) -> Iterator[subprocess.Popen[str]]:
        """Stops it cleanly; fails with its output if its exit code is not 0."""
        environment = {**os.environ, **dict.fromkeys(process.environment, str(self.folder / "fabric"))}
        output = self.folder / f"{process.name}.said"
        with output.open("w") as log:
            command = [sys.executable, "-P", "-m", "cauce", *self.arguments(process)]
            started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield started
            started.send_signal(signal.SIGTERM)
            assert started.wait(LONGEST_S) == 0, output.read_text()[-2000:]
        finally:
            started.kill()
            started.communicate()

    def view(self) -> ClusterStatus | None:
        with QueryClient(ServiceDir(self.state(DOCTORS[0]) / DIRECTORY).cluster()) as client:
            return client.status()


def roles_running(view: ClusterStatus | None) -> list[str]:
    return sorted(row.role for row in view.rows if row.state == "running" and row.ready) if view is not None else []


@pytest.fixture
def written_here(tmp_path: Path) -> Written:
    deploy("compose", PLAN, tmp_path / "written", PACKAGE)
    return Written("compose", tmp_path / "written")


@pytest.fixture
def node(written_here: Written, tmp_path: Path) -> Iterator[DeployedNode]:
    require_rabbitmq()
    with running(written_here, tmp_path / "broker") as started:
        yield started


def same_answers(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.glob("*.csv"))
    assert "q1.csv" in names
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.soak
def test_the_written_commands_start_a_service_over_tls(
    node: DeployedNode, written_here: Written, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, written_here, node.address)
    assert cauce(tmp_path, "generate", "coffee", "--out", "data", "--scale", "0.0005").code == 0
    with ExitStack() as stack:
        started = {each.name: stack.enter_context(machine.running(each)) for each in machine.written.processes()}
        ready = started["gateway-1"].stdout
        assert ready is not None
        assert ready.readline() == f"Cauce is ready on {machine.url}\n"
        token = cauce(tmp_path, "token", "create", "me", "--dir", str(machine.state("gateway-1"))).out.strip()
        sent = cauce(
            tmp_path, "submit", "coffee", "--data", "data", "--out", "sent", "--gateway", machine.url, "--token", token
        )
        assert sent.code == 0, sent.err
        expected = ["doctor"] * PLAN.doctors + ["gateway", "worker"]
        assert any(roles_running(machine.view()) == expected for _ in range(LONGEST_S))
    assert cauce(tmp_path, "run", "coffee", "--data", "data", "--out", "run").code == 0
    assert same_answers(tmp_path / "run", tmp_path / "sent")
    over = cauce(tmp_path, "run", "coffee", "--data", "data", "--out", "over", "--fabric", node.address)
    assert over.code == 0, over.err
    assert same_answers(tmp_path / "run", tmp_path / "over")
    check_access(node)


def check_access(node: DeployedNode) -> None:
    """The node accepts only TLS, trusted by the authority's certificate, and its only user has few rights."""
    broker = parse(node.address)
    with pytest.raises(FabricLost):
        RabbitFabric(replace(broker, tls=None), patience_s=1.0)
    with pytest.raises(FabricLost, match="certificate verify failed"):
        RabbitFabric(replace(broker, tls=Tls()), patience_s=1.0)
    with pytest.raises(FabricError, match="permissions"):
        RabbitFabric(replace(broker, namespace="other"))
    assert node.nodes.ctl("r1", "list_users", "--no-table-headers").split() == ["cauce", "[]"]
    given = node.nodes.ctl("r1", "list_user_permissions", "cauce", "--no-table-headers").split()
    assert given == ["/", *permissions("cauce").values()]
