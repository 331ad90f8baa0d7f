"""Processes of the previous version of Cauce beside those of this one, over one fabric: every job ends, with the exact
answers or with `mismatch`, and never with another answer. Prints how many of each.

    CAUCE_OLD_VERSION=COMMIT ./test tests/chaos/test_mixed_versions.py -s
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from cauce.client import Service
from cauce.lab.broker.nodes import Nodes
from tests.chaos.old_version import NEW, Version, old_version, until_ready
from tests.fabric.rabbit import in_own_namespace

pytestmark = pytest.mark.soak

DATASETS = {"books": 0.0006, "coffee": 0.0005}
EXACT, MISMATCH = "exact", "mismatch"
ROUNDS = 2


@dataclass(frozen=True)
class World:
    folder: Path
    old: Version
    fabric: str

    def expected(self, dataset: str) -> Path:
        return self.folder / "expected" / dataset

    def start(self, stack: ExitStack, gateway: Version, workers: list[Version]) -> str:
        """Starts processes of these versions; returns the gateway's address."""
        shared = ["--dir", str(self.folder / "service"), *self._options()]
        for version in workers:
            stack.enter_context(version.process(self.folder / f"worker-{version.label[:8]}.log", "worker", *shared))
        own = ["gateway", *shared, "--port", "0"]
        return until_ready(stack.enter_context(gateway.process(self.folder / "gateway.log", *own)))

    def _options(self) -> list[str]:
        return ["--fabric", self.fabric] if self.fabric else []

    def outcome(self, client: Version, dataset: str, url: str, job: str) -> str:
        """How a job ended: with the exact answers, or with the code of an error."""
        out = self.folder / "out" / job
        data = str(self.folder / "data" / dataset)
        given = ["--data", data, "--out", str(out), "--gateway", url, "--job", job]
        done = client.cauce(self.folder, "submit", dataset, *given)
        if done.code:
            with Service(url) as service:
                return service.job(job).status().code or done.err
        names = [path.name for path in self.expected(dataset).glob("*.csv")]
        assert names
        wrong = [name for name in names if (out / name).read_bytes() != (self.expected(dataset) / name).read_bytes()]
        return f"wrong answers of {', '.join(wrong)}" if wrong else EXACT


@pytest.fixture(params=["files", "rabbitmq"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    fabric = ""
    if request.param == "rabbitmq":
        broker: Nodes = request.getfixturevalue("broker")
        fabric = in_own_namespace(broker.address)
    made = World(tmp_path, old_version(tmp_path / "old"), fabric)
    for dataset, scale in DATASETS.items():
        data = str(tmp_path / "data" / dataset)
        assert NEW.cauce(tmp_path, "generate", dataset, "--out", data, "--scale", str(scale)).code == 0
        run = NEW.cauce(tmp_path, "run", dataset, "--data", data, "--out", str(made.expected(dataset)))
        assert run.code == 0, run.err
    return made


def play(world: World, gateway: Version, workers: list[Version], case: str) -> Counter[str]:
    found: Counter[str] = Counter()
    with ExitStack() as stack:
        url = world.start(stack, gateway, workers)
        for number in range(ROUNDS):
            for dataset in DATASETS:
                found[world.outcome(gateway, dataset, url, f"{case}-{dataset}-{number}")] += 1
    sys.stdout.write(f"{case}, old is {world.old.label}: {dict(found)}\n")
    return found


@pytest.mark.parametrize("of_gateway", ["new", "old"])
def test_every_job_ends_with_exact_answers_or_a_mismatch(world: World, of_gateway: str) -> None:
    gateway = NEW if of_gateway == "new" else world.old
    found = play(world, gateway, [world.old, NEW], f"{of_gateway}-gateway")
    assert set(found) <= {EXACT, MISMATCH}


def test_after_the_upgrade_of_all_processes_every_job_succeeds(world: World) -> None:
    before = play(world, world.old, [world.old, world.old], "before")
    assert set(before) == {EXACT}
    after = play(world, NEW, [NEW, NEW], "after")
    assert set(after) == {EXACT}
