"""The cluster over HTTP: who runs and who leads, and the timeline by cursor. Beyond loopback with a token."""

from __future__ import annotations

import time
from pathlib import Path

from cauce.doctor.supervision.events import Event, EventLog
from cauce.fabric.factory import open_fabric
from cauce.process.oom import GATEWAY, WORKER
from tests.cli.running import cauce
from tests.service.running import Running, until


def test_every_process_is_shown_and_one_leads(service: Running) -> None:
    body = service.get("/v1/cluster").json()
    processes = body["processes"]
    assert isinstance(processes, list)
    names = [row["name"] for row in processes]
    assert names == ["doctor-1", "doctor-2", "doctor-3", "gateway-1", "gateway-2", "worker-1", "worker-2"]
    assert [row["name"] for row in processes if row["leader"]] == [body["leader"]]
    assert all(row["state"] == "running" and row["pid"] and row["rss"] for row in processes)


def test_oom_scores_order_workers_before_gateways_before_doctors(service: Running) -> None:
    rows = service.get("/v1/cluster").json()["processes"]
    assert isinstance(rows, list)
    scores: dict[str, set[int]] = {"doctor": set(), "gateway": set(), "worker": set()}
    for row in rows:
        scores[row["role"]].add(int(Path(f"/proc/{row['pid']}/oom_score_adj").read_text()))
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert scores == {"doctor": {own}, "gateway": {max(own, GATEWAY)}, "worker": {max(own, WORKER)}}


def test_the_timeline_continues_after_its_cursor(service: Running) -> None:
    def page(query: str) -> tuple[list[dict[str, object]], str]:
        body = service.get(f"/v1/cluster/events?{query}").json()
        events = body["events"]
        assert isinstance(events, list)
        return events, str(body["next"])

    until("the starts on the timeline", lambda: len(page("last=50")[0]) >= 5)
    whole, _ = page("limit=1000")
    assert {event["what"] for event in whole} >= {"elected", "started"}
    seen: list[dict[str, object]] = []
    events, cursor = page("limit=2")
    while events:
        seen += events
        events, cursor = page(f"limit=2&cursor={cursor}")
    assert seen[: len(whole)] == whole
    assert page("last=1")[0] == seen[-1:]


def test_invalid_query_parameters_are_a_bad_request(service: Running) -> None:
    for query in ("cursor=x", "limit=0", "limit=100000", "last=0", "last=x"):
        assert service.get(f"/v1/cluster/events?{query}").what == (400, "bad-request"), query


def test_a_gateway_by_itself_knows_of_no_cluster(tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as gateway:
        reply = gateway.get("/v1/cluster")
        assert reply.what == (503, "unavailable")
        assert gateway.get("/v1/cluster/events").json() == {"events": [], "next": ""}


def test_beyond_loopback_a_token_is_needed(tmp_path: Path) -> None:
    made = cauce(tmp_path, "token", "create", "ana", "--dir", str(tmp_path / "service"))
    with Running(tmp_path, "gateway", "--require-token") as remote:
        for path in ("/v1/cluster", "/v1/cluster/events"):
            assert remote.get(path).what == (401, "unauthorized")
            assert remote.ask("GET", path, token=made.out.strip()).status in (200, 503)


def test_work_of_a_crashed_worker_is_hidden_from_other_owners(tmp_path: Path) -> None:
    token = cauce(tmp_path, "token", "create", "ana", "--dir", str(tmp_path / "service")).out.strip()
    with Running(tmp_path, "gateway", "--require-token") as remote:
        fabric = open_fabric(f"files:{tmp_path / 'service'}")
        held = {"owner": "juan", "job": "juan.secret", "work": "secret scan"}
        EventLog(fabric).append(
            Event(time.time(), "crashed", "worker-1", reason="killed by SIGKILL", last="secret", **held)
        )
        fabric.close()
        reply = remote.ask("GET", "/v1/cluster/events", token=token)
    assert b"killed by SIGKILL" in reply.body
    assert b"secret" not in reply.body
