"""Two hosts with a doctor each, partitioned from each other, or one of them paused: exact answers, one leader and one
instance of each process afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cauce.doctor.control import stop_all, update_desired_state
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.desired_state import RUNNING, count_key
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.supervision.events import EventLog
from cauce.fabric.factory import open_fabric
from cauce.lab.broker.hosts import Host, Network
from tests.chaos.hosts import on, require_namespaces
from tests.service.conftest import QUERIES, Case, case  # noqa: F401  (a fixture)
from tests.service.running import Piece, pieces_of, until

pytestmark = pytest.mark.soak
PORT, HTTP = 7410, 8080
AWAY_S = 60.0
STILL_S = 30.0


class TwoHosts:
    """`a` on the left switch, `b` on the right one, and a directory that both share as a disk."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.network = network
        self.hosts: dict[str, Host] = {"a": network.add("a", "left"), "b": network.add("b", "right")}
        self.folder = folder
        self.fabric = f"files:{folder / 'shared'}"
        self.homes = {label: ServiceDir(folder / label) for label in self.hosts}
        self._processes: list[subprocess.Popen[bytes]] = []
        (folder / "key").write_text("a key that only these two know")
        for label in self.hosts:
            self._start(label)

    def _start(self, label: str) -> None:
        doctors = ",".join(f"doctor-1@{each}={host.address}:{PORT}" for each, host in self.hosts.items())
        command = [sys.executable, "-m", "cauce", "doctor", "--dir", str(self.homes[label].folder)]
        command += ["--name", f"doctor-1@{label}", "--doctors", doctors, "--key-file", str(self.folder / "key")]
        command += ["--fabric", self.fabric, "--port", str(HTTP), "--attempts", "1000"]
        command += ["--timing", "lost=2", "--timing", "leader_silence=1"]
        with (self.folder / f"{label}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(on(self.hosts[label], command), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            )

    def alive(self, label: str) -> dict[str, ObservedProcess]:
        return {each.name: each for each in self.homes[label].running_processes()}

    def update_desired_state(self, wanted: dict[str, str]) -> None:
        """Changes it on the fabric, from which the doctors read it."""
        until("the doctors", lambda: all(self.alive(label) for label in self.homes))
        update_desired_state(self.homes["a"], wanted)

    def asked(self, label: str, path: str) -> dict[str, object]:
        found = self._curl(label, "GET", path)
        return json.loads(found) if found else {}

    def _curl(self, label: str, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
        command = ["curl", "-sS", "-X", method, f"http://127.0.0.1:{HTTP}{path}"]
        command += [part for header in headers for part in ("-H", header)]
        command += ["--data-binary", "@-"] if body else []
        return subprocess.run(on(self.hosts[label], command), input=body, capture_output=True, check=False).stdout

    def send(self, label: str, job: str, pieces: list[Piece]) -> None:
        for piece in pieces:
            headers = [f"{name}: {value}" for name, value in piece.headers.items()]
            path = f"/v1/jobs/{job}/tables/{piece.table}/parts/{piece.seq}"
            until(
                f"part {piece.seq} of {piece.table}",
                lambda path=path, piece=piece, headers=headers: (
                    b'"part"' in self._curl(label, "PUT", path, piece.body, *headers)
                ),
            )

    def create(self, label: str, job: str) -> None:
        body = json.dumps({"dataset": "books", "queries": QUERIES}).encode()
        made = self._curl(label, "PUT", f"/v1/jobs/{job}", body, "Content-Type: application/json")
        assert b'"created"' in made, made

    def complete(self, label: str, job: str, pieces: list[Piece]) -> None:
        for table in dict.fromkeys(piece.table for piece in pieces):
            body = json.dumps({"parts": sum(piece.table == table for piece in pieces)}).encode()
            path = f"/v1/jobs/{job}/tables/{table}/complete"
            assert b'"new"' in self._curl(label, "POST", path, body, "Content-Type: application/json")

    def leader(self, label: str) -> str:
        return str(self.asked(label, "/v1/cluster").get("leader", ""))

    def result(self, label: str, job: str, query: str) -> bytes:
        return self._curl(label, "GET", f"/v1/jobs/{job}/results/{query}", b"", "Accept: text/csv")

    def events(self) -> list[tuple[str, str, str]]:
        fabric = open_fabric(self.fabric)
        found = [(each.what, each.name, each.generation) for each in EventLog(fabric).read()]
        fabric.close()
        return found

    def end(self) -> None:
        for home in self.homes.values():
            if home.find_cluster() is not None:
                stop_all(home, lambda _: None)
        for process in self._processes:
            process.wait(30)


@contextmanager
def two_hosts(folder: Path) -> Iterator[TwoHosts]:
    with Network() as network:
        both = TwoHosts(folder, network)
        try:
            yield both
        finally:
            both.end()


def begin(both: TwoHosts, job: str, pieces: list[Piece]) -> None:
    """One process of each role on both hosts, and a job that is half uploaded."""
    counts = {count_key(role, label): "1" for role in ("doctor", "worker", "gateway") for label in "ab"}
    both.update_desired_state({**counts, RUNNING: "yes"})
    for label in "ab":
        names = {f"{role}-1@{label}" for role in ("doctor", "worker", "gateway")}
        until(f"all of {label}", lambda label=label, names=names: both.alive(label).keys() == names)
    until("one leader", lambda: both.leader("a") == both.leader("b") != "")
    both.create("a", job)
    both.send("a", job, pieces[: len(pieces) // 2])


def finish(both: TwoHosts, job: str, case: Case) -> None:  # noqa: F811
    """Checks that there is one leader and one instance of each process, that both hosts give the oracle's answers, and
    that superseded processes have exited."""
    until("one leader again", lambda: both.leader("a") == both.leader("b") != "", AWAY_S)
    until("one of each again", lambda: workers(both, "a") + workers(both, "b") == 2, AWAY_S)
    until("the end of the job", lambda: both.asked("a", f"/v1/jobs/{job}").get("state") == "done", AWAY_S)
    for query in QUERIES:
        assert both.result("a", job, query) == case.wanted[query]
        assert both.result("b", job, query) == case.wanted[query]
    logged = "".join(path.read_text() for label in "ab" for path in both.homes[label].logs.glob("worker*.log"))
    assert "is superseded by" in logged, "an old generation learns of the newer one and exits by itself"


def test_two_concurrent_leaders_change_no_answer(tmp_path: Path, case: Case) -> None:  # noqa: F811
    require_namespaces()
    pieces = pieces_of("books", case.data, 2**16, QUERIES)
    with two_hosts(tmp_path) as both:
        begin(both, "split", pieces)
        before = {label: both.alive(label) for label in "ab"}
        both.network.split()
        until("two leaders", lambda: {both.leader(label) for label in "ab"} == {"doctor-1@a", "doctor-1@b"}, AWAY_S)
        # Neither side knows whether the other's worker runs: each starts its own.
        until("both workers twice", lambda: all(workers(both, label) == 2 for label in "ab"), AWAY_S)
        both.send("b", "split", pieces[len(pieces) // 2 :])
        both.complete("b", "split", pieces)
        both.network.heal()
        finish(both, "split", case)
        for label in "ab":
            same = {f"doctor-1@{label}", f"gateway-1@{label}"}
            assert all(both.alive(label)[name].pid == before[label][name].pid for name in same)


@pytest.mark.parametrize("frozen", ["a", "b"])
def test_host_paused_for_30_s(tmp_path: Path, case: Case, frozen: str) -> None:  # noqa: F811
    """Once for each host, since the leader is on one of them."""
    require_namespaces()
    pieces = pieces_of("books", case.data, 2**16, QUERIES)
    other = "b" if frozen == "a" else "a"
    with two_hosts(tmp_path) as both:
        begin(both, "still", pieces)
        stopped = both.alive(frozen)
        for each in stopped.values():
            os.kill(each.pid, signal.SIGSTOP)
        since = time.monotonic()
        until("its worker elsewhere", lambda: workers(both, other) == 2, AWAY_S)
        both.send(other, "still", pieces[len(pieces) // 2 :])
        both.complete(other, "still", pieces)
        time.sleep(max(since + STILL_S - time.monotonic(), 0))
        for each in stopped.values():
            os.kill(each.pid, signal.SIGCONT)
        finish(both, "still", case)
        until("the old worker's leaving", lambda: not Path(f"/proc/{stopped[f'worker-1@{frozen}'].pid}").exists())
        for name in (f"doctor-1@{frozen}", f"gateway-1@{frozen}"):
            assert both.alive(frozen)[name].pid == stopped[name].pid


def workers(both: TwoHosts, label: str) -> int:
    return sum(name.startswith("worker-") for name in both.alive(label))
