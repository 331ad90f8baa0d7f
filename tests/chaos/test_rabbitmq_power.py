"""The power of all broker nodes is cut at once while jobs run. RabbitMQ confirms before it syncs, so confirmed records
are lost: each job then has the oracle's answers, fails, waits or is gone, and none has another answer. Prints which.

    CAUCE_RABBITMQ_VERSION=4.3 ./test tests/chaos/test_rabbitmq_power.py -m soak -s
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.api.jobs import ENDED
from cauce.client import Service
from cauce.errors import BrokerFailed, CauceError
from cauce.lab.broker.nodes import Nodes, start
from cauce.lab.power.mounting import why_impossible
from cauce.lab.power.volatile_disk import VolatileDisk
from cauce.lab.power.volatile_tree import CutReport
from tests.broker_guardian import become_user, guard
from tests.brokers import require_rabbitmq
from tests.chaos.interrupted import Case, Interrupted, half_way, make_case
from tests.service.running import Running

pytestmark = pytest.mark.soak

SCALES = {"books": 0.0006, "coffee": 0.0003}
WRITEBACK_S = 30.0
"""After this time Linux writes content to the disk by itself."""
END_S = 75.0
SEEDS = range(4)
EXACT, WAITS, NO_BROKER = "exact", "waits", "the broker did not start"
ALLOWED = {EXACT, WAITS, NO_BROKER, "failed: corrupt", "damaged: corrupt", "error: no-such-job"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return [make_case(name, tmp_path_factory.mktemp(name), scale) for name, scale in SCALES.items()]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[VolatileDisk]:
    reason = why_impossible()
    if reason is not None:
        pytest.skip(f"no power can be cut here: {reason}")
    with VolatileDisk(tmp_path / "disk", WRITEBACK_S) as made:
        yield made


@pytest.fixture
def nodes(disk: VolatileDisk, tmp_path: Path) -> Iterator[Nodes]:
    require_rabbitmq()
    folder = tmp_path / "guarded"
    with become_user(folder):
        guard(folder, disk.folder / "nodes")
        made = start(disk.folder / "nodes", 3)
        sync_all(disk.folder)
        yield made
        made.stop(gently=False)


def sync_all(folder: Path) -> None:
    """As on a machine that has run for a while: configuration and empty cluster are on the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def cut_power(disk: VolatileDisk, nodes: Nodes, seed: int) -> CutReport:
    for name in nodes.names:
        nodes.kill(name)
    report = disk.cut(seed, "ordered")
    disk.mount()
    return report


def start_again(nodes: Nodes) -> bool:
    try:
        for name in nodes.names:
            nodes.start_again(name, wait=False)
        nodes.wait_ready()
    except BrokerFailed as problem:
        sys.stdout.write(f"{problem}\n")
        return False
    return True


def outcome(client: Interrupted, deadline: float) -> str:
    """How the job ended, or that it has not. Raises if an answer is wrong."""
    with Service(client.url, patience_s=END_S) as service:
        job = service.job(client.job)
        try:
            while (status := job.status()).state not in ENDED:
                if time.monotonic() > deadline:
                    sys.stdout.write(f"{client.job} {status.state}: {job.why()}; its client: {client.problem}\n")
                    return WAITS
                time.sleep(0.2)
            if status.state != "done":
                sys.stdout.write(f"{client.job} {status.state}: {status.cause}\n")
                return f"{status.state}: {status.code}"
            for query in client.case.queries:
                into = io.BytesIO()
                job.save(query, "csv", into)
                assert into.getvalue() == client.case.wanted[query], f"{client.job}: {query}"
        except CauceError as problem:
            sys.stdout.write(f"{client.job}: {problem}\n")
            return f"error: {problem.code}"
    return EXACT


@pytest.mark.parametrize("seed", SEEDS)
def test_a_power_cut_of_all_nodes_gives_no_wrong_answer(
    disk: VolatileDisk, nodes: Nodes, cases: list[Case], tmp_path: Path, seed: int
) -> None:
    found: Counter[str] = Counter()
    address = f"{nodes.address}?namespace=power"
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "2", "--fabric", address) as service:
        clients = [Interrupted(case, service.url, f"{case.dataset}-job") for case in cases]
        half_way(clients)
        report = cut_power(disk, nodes, seed)
        assert report.dropped_writes > 0
        if start_again(nodes):
            for client in clients:
                client.go_on.set()
            deadline = time.monotonic() + END_S
            found.update(outcome(client, deadline) for client in clients)
        else:
            found[NO_BROKER] += len(clients)
    sys.stdout.write(f"seed {seed}: {report.dropped_bytes:,} unsynced bytes were lost; jobs: {dict(found)}\n")
    assert set(found) <= ALLOWED
