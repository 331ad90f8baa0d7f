"""SIGKILL of every kind of process, alone, in pairs and almost all at once: all are restarted, and the running job
completes with exact answers."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from cauce.doctor.supervision.reconciler import MAX_LAST_WORKER_BACKOFF_S
from cauce.lab.broker.nodes import Nodes
from cauce.process.table import send_signal
from tests.chaos.cluster import Cluster, Sending
from tests.chaos.test_poison import write_notes
from tests.cli.running import cauce
from tests.service.conftest import Case, case  # noqa: F401  (a fixture)
from tests.service.running import until

pytestmark = pytest.mark.slow
STILL_S = 30.0


def others(cluster: Cluster, leader: str) -> list[str]:
    return sorted(name for name in cluster.alive() if name.startswith("doctor-") and name != leader)


def test_killed_processes_are_restarted_alone_and_in_pairs(tmp_path: Path, case: Case) -> None:  # noqa: F811
    with Cluster(tmp_path) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        sending.until_under_way()
        leader = cluster.until_leader()
        low = others(cluster, leader)[0]
        for names in (["worker-1"], ["gateway-2"], [low], ["worker-1", "worker-2"], ["gateway-1", "gateway-2"]):
            cluster.until_replaced(cluster.kill(names))
            assert cluster.until_leader() == leader, "nobody but the leader's death makes an election"
        cluster.until_replaced(cluster.kill([leader]))
        assert cluster.until_leader() != leader, "who comes back does not take over"
        for beside in ("worker-2", "gateway-1"):
            leader = cluster.until_leader()
            cluster.until_replaced(cluster.kill([leader, beside]))
        sending.finish()
        crashed = cluster.until_event("crashed", "gateway-2")
        assert crashed.reason.startswith("killed by SIGKILL")
        for what in ("detected", "restarted", "recovered"):
            assert cluster.until_event(what, "gateway-2")
        assert cluster.events_of("elected", cluster.until_leader())


def test_last_doctor_restarts_the_others_after_kills_during_an_election(tmp_path: Path, case: Case) -> None:  # noqa: F811
    with Cluster(tmp_path) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        leader = cluster.until_leader()
        low, high = others(cluster, leader)
        # Kill the next leader during its own election, if it has started one.
        cluster.until_replaced(cluster.kill([leader, high]))
        assert cluster.until_leader() == low
        leader = cluster.until_leader()
        (old,) = cluster.kill([leader])
        until("another leader", lambda: cluster.leader() not in ("", leader))
        cluster.until_replaced([*cluster.kill([cluster.until_leader()]), old])
        sending.finish()


@pytest.mark.parametrize(
    "survivor", ["worker-2", *(pytest.param(each, marks=pytest.mark.soak) for each in ("gateway-1", "doctor-2"))]
)
def test_one_surviving_process_restarts_all_others(tmp_path: Path, case: Case, survivor: str) -> None:  # noqa: F811
    with Cluster(tmp_path) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        sending.until_under_way()
        victims = cluster.kill(name for name in cluster.alive() if name != survivor)
        before = cluster.alive()[survivor].pid
        cluster.until_replaced(victims)
        assert cluster.alive()[survivor].pid == before
        sending.finish()


def test_ring_mode_detects_exits(tmp_path: Path, case: Case) -> None:  # noqa: F811
    with Cluster(tmp_path, "--watch", "ring") as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        # The next leader is not the parent of any process: it learns of exits through the ring.
        cluster.until_replaced(cluster.kill([cluster.until_leader()]))
        for names in (["worker-1"], ["gateway-2"], ["worker-1", "worker-2"], ["gateway-1", "worker-2"]):
            cluster.until_replaced(cluster.kill(names))
        sending.finish()


def test_kills_of_a_healthy_worker_never_delay_its_restart(tmp_path: Path) -> None:
    """With default settings, and as many kills as used to park a worker permanently."""
    with Cluster(tmp_path, workers=1, gateways=1) as cluster:
        cluster.until_well()
        for _ in range(8):
            cluster.until_replaced(cluster.kill(["worker-1"]))
        assert [each.state for each in cluster.rows() if each.name == "worker-1"] == ["running"]


def test_crash_loop_backoff_is_shown_and_can_be_skipped(tmp_path: Path) -> None:
    """Kills each instance right after its start, more often than a healthy process is killed by chance."""
    with Cluster(tmp_path, "--timing", "backoff=600", workers=2, gateways=1) as cluster:
        cluster.until_well()
        folder = str(cluster.service.folder)

        def delayed() -> bool:
            for each in cluster.home.running_processes():
                if each.name == "worker-1":
                    send_signal(each.pid, each.start, signal.SIGKILL)
            return any(row.name == "worker-1" and (row.restart_in_s or 0) > 30 for row in cluster.rows())

        until("a long pause", delayed, 120)
        shown = cauce(tmp_path, "status", "--dir", folder)
        assert "restarting in" in " ".join(shown.out.split())
        (row,) = [each for each in cluster.rows() if each.name == "worker-1"]
        assert row.reason == f"it crashed {row.crashes} times, last: killed by SIGKILL"
        assert cluster.until_event("backoff", "worker-1").reason.startswith("restarting in ")
        assert "worker-1" not in cluster.alive()
        assert cauce(tmp_path, "start", "worker-1", "--dir", folder).code == 0
        assert cluster.until_well() < 30, "it did not wait for the end of its pause"


def test_last_worker_in_a_crash_loop_is_reported_and_recovers(tmp_path: Path) -> None:
    with Cluster(tmp_path, workers=1, gateways=1) as cluster:
        cluster.until_well()
        assert cluster.service.create("waiting", queries=["q1"]).status == 201
        pauses: list[float] = []

        def named() -> bool:
            for each in cluster.home.running_processes():
                if each.name == "worker-1":
                    send_signal(each.pid, each.start, signal.SIGKILL)
            pauses.extend(row.restart_in_s or 0.0 for row in cluster.rows() if row.name == "worker-1")
            ready = str(cluster.service.get("/readyz").json().get("notice"))
            why = str(cluster.service.get("/v1/jobs/waiting/why").json()["why"])
            return max(pauses) > 2 and all("no worker is running: worker-1 is " in text for text in (ready, why))

        until("the notice", named, 120)
        shown = cluster.service.get("/v1/cluster").json()["no_worker"]
        assert max(pauses) <= MAX_LAST_WORKER_BACKOFF_S
        assert shown is None or "worker-1" in str(shown)
        cluster.until_well()


def test_process_stopped_by_an_operator_stays_stopped(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.until_well()
        folder = str(cluster.service.folder)
        assert cauce(tmp_path, "stop", "worker-2", "--dir", folder).code == 0
        until("its end", lambda: "worker-2" not in cluster.alive())
        cluster.size -= 1
        victims = cluster.kill(name for name in cluster.alive() if name != "gateway-1")

        def back() -> bool:
            alive = cluster.alive()
            return all(each.name in alive and alive[each.name].pid != each.pid for each in victims)

        until("the others to be back", back)
        assert "worker-2" not in cluster.alive()
    with Cluster(tmp_path) as again:
        until("the others", lambda: len(again.alive()) == again.size - 1)
        assert again.states()["worker-2"] == "stopped"
        assert cauce(tmp_path, "start", "worker-2", "--dir", folder).code == 0
        again.until_well()


@pytest.mark.parametrize("role", ["leader", "worker", "gateway"])
def test_process_stopped_by_a_signal_is_replaced(tmp_path: Path, case: Case, role: str) -> None:  # noqa: F811
    with Cluster(tmp_path, "--timing", "paused=2") as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        sending.until_under_way()
        name = {"leader": cluster.until_leader(), "worker": "worker-1", "gateway": "gateway-1"}[role]
        victims = cluster.kill([name], signal.SIGSTOP)
        cluster.until_replaced(victims)
        # It is not left to wake up. Its parent may take a moment to reap it.
        until("the stopped process to be gone", lambda: not Path(f"/proc/{victims[0].pid}").exists())
        assert "stopped by a signal" in cluster.until_event("crashed", name).reason
        sending.finish()


@pytest.mark.soak
@pytest.mark.parametrize("fabric", ["files", "rabbitmq"], indirect=True)
@pytest.mark.parametrize("role", ["leader", "worker", "gateway"])
def test_processes_paused_for_thirty_seconds(tmp_path: Path, case: Case, role: str, fabric: list[str]) -> None:  # noqa: F811
    """The paused process is not killed: it resumes while the others have continued."""
    with Cluster(tmp_path, "--timing", "paused=1000", *fabric) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        sending.until_under_way()
        name = {"leader": cluster.until_leader(), "worker": "worker-1", "gateway": "gateway-1"}[role]
        (stopped,) = cluster.kill([name], signal.SIGSTOP)
        since = time.monotonic()
        until("its being seen to stand still", lambda: cluster.states().get(name) == "paused")
        time.sleep(max(since + STILL_S - time.monotonic(), 0))
        if role == "leader":
            assert cluster.until_leader() != name
        cluster.kill([name], signal.SIGCONT)
        cluster.until_well()
        sending.finish()
        assert cluster.alive()[name].pid == stopped.pid
        assert cluster.events_of("restarted", name) == []


def test_resumed_leader_follows_its_successor(tmp_path: Path, case: Case) -> None:  # noqa: F811
    with Cluster(tmp_path) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        first = cluster.until_leader()
        (stopped,) = cluster.kill([first], signal.SIGSTOP)
        until("another leader", lambda: cluster.leader() not in ("", first))
        second = cluster.until_leader()
        cluster.kill([first], signal.SIGCONT)
        cluster.until_well()
        assert cluster.until_leader() == second
        assert cluster.alive()[first].pid == stopped.pid
        assert cluster.events_of("restarted", first) == []
        sending.finish()


def test_worker_that_hangs_dumps_its_stack_and_is_replaced(tmp_path: Path) -> None:
    """A part that hangs every worker fails its job and is named."""
    hung = tmp_path / "hung"
    write_notes(tmp_path, f"open({str(hung)!r}, 'a').write('x'); __import__('time').sleep(600)", marked_row=7)
    own = ["--dataset", str(tmp_path / "notes.py"), "--attempts", "2", "--timing", "hung=2"]
    with Cluster(tmp_path, *own, workers=1, gateways=1) as cluster:
        service = cluster.service
        cluster.until_well()
        assert service.create("stuck", "notes").status == 201
        body = (tmp_path / "data/notes.csv").read_bytes()
        path = "/v1/jobs/stuck/tables/notes/parts/0"
        assert service.ask("PUT", path, body, {"Content-Type": "text/csv"}).status == 201
        service.complete("stuck", "notes", 1)
        until("the end of the job", lambda: service.state("stuck") == "failed")
        assert "has killed its worker 2 times" in str(service.get("/v1/jobs/stuck").json()["cause"])
        assert hung.read_text() == "xx"
        event = cluster.until_event("hung", "worker-1")
        assert "no heartbeat" in event.reason
        crashed = cluster.until_event("crashed", "worker-1")
        assert crashed.job == "local.stuck"
        assert crashed.work.startswith("scan notes, lane 0")
        assert "most recent call first" in cluster.home.log("worker-1").read_text()
        cluster.until_well()


def test_killed_processes_are_restarted_on_rabbitmq(tmp_path: Path, case: Case, broker: Nodes) -> None:  # noqa: F811
    with Cluster(tmp_path, "--fabric", f"{broker.address}?namespace=doctors", workers=1, gateways=1) as cluster:
        cluster.until_well()
        sending = Sending(cluster, case)
        sending.until_under_way()
        for names in (["worker-1"], ["gateway-1"], [cluster.leader()]):
            cluster.until_replaced(cluster.kill(names))
        sending.finish()
        assert cluster.until_event("crashed", "worker-1").reason.startswith("killed by SIGKILL")
