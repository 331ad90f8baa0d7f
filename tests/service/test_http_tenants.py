"""Two tenants of one service: in all that is shown of its processes, neither finds a name of the other's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.chaos.cluster import Cluster
from tests.chaos.test_poison import write_notes
from tests.cli.running import cauce
from tests.service.running import until

OWNER, JOB = "alice", "topsecret"
SECRETS = (OWNER.encode(), JOB.encode(), b"scan notes", b"lane 0")
ROUTES = ("/v1/cluster", "/v1/cluster/events?last=1000")


class Reader:
    """Reads all that is shown of the processes to the holder of a token, until its block ends."""

    def __init__(self, cluster: Cluster, token: str) -> None:
        self._service = cluster.service
        self._token = token
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._poll), threading.Thread(target=self._stream)]
        self.answers = dict.fromkeys((*ROUTES, "/v1/cluster/live"), b"")

    def __enter__(self) -> Reader:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for each in self._threads:
            each.join()

    def _poll(self) -> None:
        while not self._ended.wait(0.1):
            for path in ROUTES:
                self.answers[path] += self._service.ask("GET", path, token=self._token).body

    def _stream(self) -> None:
        asked = {"Authorization": f"Bearer {self._token}"}
        url = f"{self._service.url}/v1/cluster/live"
        reply = self._service.http.request("GET", url, headers=asked, preload_content=False)
        for data in reply.stream(1 << 16):
            self.answers["/v1/cluster/live"] += data
            if self._ended.is_set():
                break
        reply.close()


@pytest.mark.quick
def test_the_names_of_another_tenants_jobs_appear_nowhere(tmp_path: Path) -> None:
    hung = tmp_path / "hung"
    write_notes(tmp_path, f"open({str(hung)!r}, 'a').write('x'); __import__('time').sleep(600)", marked_row=7)
    folder = str(tmp_path / "service")
    tokens = {name: cauce(tmp_path, "token", "create", name, "--dir", folder).out.strip() for name in (OWNER, "bob")}
    own = ["--dataset", str(tmp_path / "notes.py"), "--attempts", "2", "--timing", "hung=2", "--require-token"]
    with Cluster(tmp_path, *own, workers=1, gateways=1) as cluster:
        service = cluster.service
        service.token = tokens[OWNER]
        cluster.until_well()
        with Reader(cluster, tokens["bob"]) as bob, Reader(cluster, tokens[OWNER]) as alice:
            assert service.create(JOB, "notes").status == 201
            body = (tmp_path / "data/notes.csv").read_bytes()
            path = f"/v1/jobs/{JOB}/tables/notes/parts/0"
            assert service.ask("PUT", path, body, {"Content-Type": "text/csv"}).status == 201
            service.complete(JOB, "notes", 1)
            # The first worker is killed at work, the second hangs until its doctor ends it.
            until("the job at work", lambda: any(row.job.endswith(f".{JOB}") for row in cluster.rows()))
            until("the first call", hung.exists)
            cluster.kill(["worker-1"])
            until("the end of the job", lambda: service.state(JOB) == "failed")
            cluster.until_well()
            for what in ("crashed", "hung", "detected", "restarted", "recovered"):
                cluster.until_event(what, "worker-1")
            until("the last event", lambda: alice.answers["/v1/cluster/live"].count(b'"recovered"') >= 1)
    for route, answer in bob.answers.items():
        assert b"worker-1" in answer, route
        for secret in SECRETS:
            assert secret not in answer, (route, secret)
        assert f".{JOB}".encode() in alice.answers[route], route
    events = bob.answers["/v1/cluster/events?last=1000"]
    assert b"killed by SIGKILL" in events
    assert b'"hung"' in events
