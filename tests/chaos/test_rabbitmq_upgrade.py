"""An upgrade of three broker nodes from the oldest to the newest version that we develop for, while jobs are under way.

Not node by node: 4.3 refuses to join nodes of 4.0. All nodes are stopped and started with the new version.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.lab.broker.nodes import Nodes, start
from cauce.lab.broker.releases import choose
from tests.broker_guardian import become_user, guard
from tests.brokers import require_rabbitmq
from tests.chaos.interrupted import Interrupted, half_way, make_case, until_work_goes_on
from tests.service.running import Running

OLD, NEW = "4.0", "4.3"
SCALES = {"books": 0.0006, "coffee": 0.0003}


@pytest.fixture
def old_nodes(tmp_path: Path) -> Iterator[Nodes]:
    require_rabbitmq()
    for version in (OLD, NEW):
        try:
            choose(version)
        except UsageError as problem:
            pytest.skip(str(problem))
    folder = tmp_path / "upgraded"
    with become_user(folder):
        guard(folder, folder / "nodes")
        nodes = start(folder / "nodes", 3, version=OLD)
        yield nodes
        nodes.stop(gently=False)


def version_of(nodes: Nodes, name: str) -> str:
    return nodes.ctl(name, "eval", "io:format([126, 115], [rabbit_misc:version()]).").split("ok")[0].strip()


@pytest.mark.soak
def test_jobs_survive_an_upgrade_of_all_nodes(old_nodes: Nodes, tmp_path: Path) -> None:
    nodes = old_nodes
    cases = [make_case(name, tmp_path / name, scale) for name, scale in SCALES.items()]
    nodes.ctl("r1", "enable_feature_flag", "all")
    # The new version has no other store of metadata.
    nodes.ctl("r1", "enable_feature_flag", "--opt-in", "khepri_db")
    address = f"{nodes.address}?namespace=upgrade"
    folder = tmp_path / "service"
    folder.mkdir()
    with Running(folder, "serve", "--workers", "2", "--gateways", "2", "--fabric", address) as service:
        clients = [Interrupted(case, service.url, f"{case.dataset}-job") for case in cases]
        half_way(clients)
        assert all(version_of(nodes, name).startswith(f"{OLD}.") for name in nodes.names)
        nodes.stop()
        started = time.monotonic()
        nodes.start(NEW)
        sys.stdout.write(f"all nodes were upgraded in {time.monotonic() - started:.1f} s\n")
        assert all(version_of(nodes, name).startswith(f"{NEW}.") for name in nodes.names)
        sys.stdout.write(f"work went on after {until_work_goes_on(clients):.2f} s\n")
        for client in clients:
            client.finish()
