"""Processes of two versions of Cauce beside each other, over one fabric: every job ends with the exact answers, as long
as a worker of the version that planned it runs.

    CAUCE_OLD_VERSION=COMMIT ./test tests/chaos/test_mixed_versions.py -m soak -s
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from cauce.client import Service
from cauce.lab.broker.nodes import Nodes
from tests.chaos.old_version import NEW, POLL_S, Version, next_version, old_version, until_ready
from tests.fabric.rabbit import in_own_namespace

pytestmark = pytest.mark.soak

DATASETS = {"books": 0.0006, "coffee": 0.0005}
EXACT = "exact"
ROUNDS = 1
WAIT_S = 120.0


@dataclass(frozen=True)
class World:
    """`before` is an older version than `after`; one of them is that of these sources."""

    folder: Path
    before: Version
    after: Version
    fabric: str

    def expected(self, dataset: str) -> Path:
        return self.folder / "expected" / dataset

    def gateway(self, stack: ExitStack, version: Version) -> str:
        """Starts a gateway; returns its address."""
        log = self.folder / f"gateway-{version.label[:8]}.log"
        return until_ready(stack.enter_context(version.process(log, "gateway", *self._shared(), "--port", "0")))

    def worker(self, stack: ExitStack, version: Version) -> None:
        stack.enter_context(version.process(self.folder / f"worker-{version.label[:8]}.log", "worker", *self._shared()))

    def _shared(self) -> list[str]:
        return ["--dir", str(self.folder / "service"), *(["--fabric", self.fabric] if self.fabric else [])]

    def send(self, client: Version, dataset: str, url: str, job: str) -> None:
        sent = client.cauce(self.folder, "submit", dataset, *self._submission(dataset, url, job), "--no-wait")
        assert sent.code == 0, sent.err

    def outcome(self, client: Version, dataset: str, url: str, job: str) -> str:
        """How a job ended: with the exact answers, or with the code of an error. Sends it if that was not done."""
        done = client.cauce(self.folder, "submit", dataset, *self._submission(dataset, url, job))
        if done.code:
            with Service(url) as service:
                return service.job(job).status().code or done.err
        out = self.folder / "out" / job
        names = [path.name for path in self.expected(dataset).glob("*.csv")]
        assert names
        wrong = [name for name in names if (out / name).read_bytes() != (self.expected(dataset) / name).read_bytes()]
        return f"wrong answers of {', '.join(wrong)}" if wrong else EXACT

    def _submission(self, dataset: str, url: str, job: str) -> list[str]:
        data, out = self.folder / "data" / dataset, self.folder / "out" / job
        return ["--data", str(data), "--out", str(out), "--gateway", url, "--job", job]


@pytest.fixture(params=["old", "next"])
def versions(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Version, Version]:
    if request.param == "old":
        return old_version(tmp_path / "old"), NEW
    return NEW, next_version(tmp_path / "next")


@pytest.fixture(params=["files", "rabbitmq"])
def world(request: pytest.FixtureRequest, tmp_path: Path, versions: tuple[Version, Version]) -> World:
    fabric = ""
    if request.param == "rabbitmq":
        broker: Nodes = request.getfixturevalue("broker")
        fabric = in_own_namespace(broker.address)
    made = World(tmp_path, *versions, fabric)
    for dataset, scale in DATASETS.items():
        data = str(tmp_path / "data" / dataset)
        assert NEW.cauce(tmp_path, "generate", dataset, "--out", data, "--scale", str(scale)).code == 0
        run = NEW.cauce(tmp_path, "run", dataset, "--data", data, "--out", str(made.expected(dataset)))
        assert run.code == 0, run.err
    return made


def play(world: World, gateway: Version, workers: list[Version], case: str) -> Counter[str]:
    found: Counter[str] = Counter()
    with ExitStack() as stack:
        for version in workers:
            world.worker(stack, version)
        url = world.gateway(stack, gateway)
        for number in range(ROUNDS):
            for dataset in DATASETS:
                found[world.outcome(gateway, dataset, url, f"{case}-{dataset}-{number}")] += 1
    sys.stdout.write(f"{case}, {world.before.label} and {world.after.label}: {dict(found)}\n")
    return found


@pytest.mark.parametrize("of_gateway", ["before", "after"])
def test_with_a_worker_of_each_version_every_job_has_exact_answers(world: World, of_gateway: str) -> None:
    gateway = world.before if of_gateway == "before" else world.after
    found = play(world, gateway, [world.before, world.after], f"gateway-{of_gateway}")
    assert found == {EXACT: ROUNDS * len(DATASETS)}


def test_a_job_sent_before_the_upgrade_ends_exactly_with_gateways_and_a_worker_of_both_versions(world: World) -> None:
    jobs = {dataset: f"early-{dataset}" for dataset in DATASETS}
    with ExitStack() as stack:
        with ExitStack() as before:
            url = world.gateway(before, world.before)
            for dataset, job in jobs.items():
                world.send(world.before, dataset, url, job)
        upgraded = world.gateway(stack, world.after)
        world.worker(stack, world.after)
        for job in jobs.values():
            wait_until_declined(upgraded, job)
        world.worker(stack, world.before)
        for dataset, job in jobs.items():
            assert world.outcome(world.after, dataset, upgraded, job) == EXACT


def wait_until_declined(url: str, job: str) -> None:
    deadline = time.monotonic() + WAIT_S
    with Service(url) as service:
        while "waits for a worker of" not in (why := service.job(job).why()):
            assert time.monotonic() < deadline, why
            time.sleep(POLL_S)


def test_after_the_upgrade_of_all_processes_every_job_succeeds(world: World) -> None:
    before = play(world, world.before, [world.before, world.before], "before")
    assert set(before) == {EXACT}
    after = play(world, world.after, [world.after, world.after], "after")
    assert set(after) == {EXACT}
