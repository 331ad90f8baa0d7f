"""A hostile tenant attacks a service with default settings for two minutes, while another one runs small jobs.

The same small jobs run on a second service that nobody attacks, before, meanwhile and afterwards: whatever else the
machine does slows both of them.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.cluster import BACK_S, Cluster
from tests.cli.running import cauce
from tests.service.attacks import LETHAL, Attacker, in_threads
from tests.service.conftest import QUERIES, Case
from tests.service.limits import FEW_FILES, allow_many_files
from tests.service.running import Running, until

ATTACK_S, SOAK_ATTACK_S, LONGEST_ATTACK_S = 120.0, 240.0, 480.0
"""On a slow machine the attack lasts until each of its faults has happened, and that long at most."""
ALONE_JOBS = 6
PAUSE_S = 0.5
"""Between two jobs of a tenant: it is the attacker who keeps the machine busy."""
CONTROL_EVERY = 2
SLOWER = 5.0
FAULTS = {
    *("lethal", "gathering", "join", "scored", "open", "slow", "stream", "look", "watched", "damaged", "unreadable"),
}


class Tenant:
    """Sends one small job after the other, and compares the answers with the oracle's."""

    def __init__(self, service: Running, case: Case) -> None:
        self._service = service
        self._case = case
        self._number = 0

    def run_job(self) -> float:
        """How long one job took, from its creation to its end."""
        self._number += 1
        job = f"secret-{self._number}"
        started = time.monotonic()
        assert self._service.create(job, queries=QUERIES).status == 201
        self._service.upload(job, self._case.pieces)
        self._service.wait_done(job)
        took = time.monotonic() - started
        for query in QUERIES:
            assert self._service.get(f"/v1/jobs/{job}/results/{query}", "text/csv").body == self._case.wanted[query]
        return took


def attack(attacker: Attacker) -> list[threading.Thread]:
    # A job for the slow uploads and the streams.
    attacker.create("coffee", "q1")
    return in_threads(
        [
            attacker.watch_cluster,
            attacker.hold_jobs_open,
            attacker.kill_workers,
            attacker.kill_gathering_workers,
            attacker.multiply_rows,
            attacker.score_long_texts,
            attacker.send_slowly,
            attacker.hold_streams,
            attacker.look_around,
            attacker.damage_own_log,
            attacker.block_own_logs,
        ]
    )


@contextmanager
def attacked_service(folder: Path) -> Iterator[tuple[Cluster, str]]:
    """With the token of the attacker; that of its other tenant is set."""
    folder.mkdir()
    (folder / "lethal.py").write_text(LETHAL)
    tokens = {
        name: cauce(folder, "token", "create", name, "--dir", str(folder / "service")).out.strip()
        for name in ("victim", "hostile")
    }
    allow_many_files()
    options = ("--require-token", "--dataset", str(folder / "lethal.py"))
    with Cluster(folder, *options, open_files=FEW_FILES) as cluster:
        cluster.service.token = tokens["victim"]
        yield cluster, tokens["hostile"]


@pytest.mark.long
@pytest.mark.parametrize("least_s", [ATTACK_S, pytest.param(SOAK_ATTACK_S, marks=pytest.mark.soak)])
def test_small_jobs_of_another_tenant_end_in_time(tmp_path: Path, case: Case, least_s: float) -> None:
    over = threading.Event()
    (tmp_path / "control").mkdir()
    with attacked_service(tmp_path / "attacked") as (cluster, token), Cluster(tmp_path / "control") as control:
        victim, unharmed = Tenant(cluster.service, case), Tenant(control.service, case)
        attacker = Attacker(cluster.service, token, over)
        alone = [tenant.run_job() for _ in range(ALONE_JOBS) for tenant in (victim, unharmed)]
        threads = attack(attacker)
        attacked, started = [], time.monotonic()
        while not is_enough(attacker, time.monotonic() - started, least_s):
            attacked.append(victim.run_job())
            # From the first one on: the start of the attack takes the most of the machine.
            if len(attacked) % CONTROL_EVERY == 1:
                alone.append(unharmed.run_job())
            for path in ("/healthz", "/readyz"):
                assert cluster.service.get(path).status == 200
            time.sleep(PAUSE_S)
        over.set()
        for thread in threads:
            thread.join(BACK_S)
        assert not [thread.name for thread in threads if thread.is_alive()]
        attacker.cancel_all()
        until("every process to run", cluster.well, 2 * BACK_S)
        alone += [tenant.run_job() for _ in range(ALONE_JOBS) for tenant in (victim, unharmed)]
        crashed = [event for event in cluster.events() if event.what == "crashed"]
    print(f"alone: {summary(alone)}; attacked: {summary(attacked)}; {len(crashed)} crashes; {dict(attacker.caused)}")  # noqa: T201
    assert not attacker.problems
    assert len(crashed) >= 3, "no worker was killed"
    assert set(attacker.caused) == FAULTS
    assert not [found for found in attacker.seen if b"victim" in found or b"secret-" in found]
    assert max(attacked) <= SLOWER * max(alone)


def is_enough(attacker: Attacker, attacked_s: float, least_s: float) -> bool:
    enough_s = least_s if set(attacker.caused) == FAULTS else LONGEST_ATTACK_S
    return attacked_s >= enough_s or bool(attacker.problems)


def summary(times: list[float]) -> str:
    return f"{len(times)} jobs, median {statistics.median(times):.2f} s, longest {max(times):.2f} s"
