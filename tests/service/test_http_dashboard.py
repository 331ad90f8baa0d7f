"""The dashboard and what it asks, over HTTP."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path

import pytest
import urllib3

from tests.service.conftest import Case
from tests.service.running import Running, until


def test_the_page_needs_no_token_and_loads_only_own_files(service: Running) -> None:
    reply = service.get("/")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in reply.headers["content-security-policy"]
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert reply.headers["cache-control"] == "no-cache"


def test_versioned_files_are_cached_forever(service: Running) -> None:
    page = service.get("/").body.decode()
    address = page.partition('src="')[2].partition('"')[0]
    assert address.endswith("/app.js")
    reply = service.get(address)
    assert "immutable" in reply.headers["cache-control"]
    assert reply.headers["content-type"].startswith("text/javascript")
    other = service.get("/assets/older/app.js")
    assert (other.body, other.headers["cache-control"]) == (reply.body, "no-cache")


def test_a_cached_file_is_not_sent_again(service: Running) -> None:
    etag = service.get("/").headers["etag"]
    again = service.ask("GET", "/", headers={"If-None-Match": etag})
    assert (again.status, again.body) == (304, b"")


def test_files_are_compressed_if_the_client_accepts_gzip(service: Running) -> None:
    http = urllib3.PoolManager()
    reply = http.request(
        "GET", f"{service.url}/", headers={"Accept-Encoding": "gzip"}, decode_content=False, preload_content=False
    )
    assert reply.headers["content-encoding"] == "gzip"
    assert gzip.decompress(reply.read(decode_content=False)) == service.get("/").body


def test_datasets_are_listed(service: Running) -> None:
    found = service.get("/v1/datasets").json()["datasets"]
    assert isinstance(found, list)
    assert [each["name"] for each in found] == ["books", "movies", "flights", "coffee"]


def test_the_graph_and_why_return_the_same_sentence(service: Running, done: str) -> None:
    graph = service.get(f"/v1/jobs/{done}/graph").json()
    assert graph["why"] == service.get(f"/v1/jobs/{done}/why").json()["why"]
    stages = graph["stages"]
    assert isinstance(stages, list)

    def finished() -> bool:
        received = service.get(f"/v1/jobs/{done}/graph").json()["stages"]
        return all(stage["finished"] == stage["tasks"] for stage in received)  # type: ignore[union-attr]

    until("all work is told of", finished)


def test_a_page_contains_the_total_number_of_rows(service: Running, done: str) -> None:
    page = service.get(f"/v1/jobs/{done}/results/q3?limit=2").json()
    rows = service.get(f"/v1/jobs/{done}/results/q3").body.count(b"\n") - 1
    assert page["total"] == rows
    assert service.get(f"/v1/jobs/{done}/rejects?limit=1").json()["total"] == 2


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
def test_a_link_leads_to_a_file_in_the_form_it_names(service: Running, done: str, form: str) -> None:
    reply = service.get(f"/v1/jobs/{done}/results/q1?format={form}", "text/html,*/*;q=0.8")
    assert reply.status == 200
    assert reply.headers["content-disposition"] == f'attachment; filename="{done}-q1.{form}"'


def test_an_unknown_format_is_rejected(service: Running, done: str) -> None:
    assert service.get(f"/v1/jobs/{done}/results/q1?format=xml").what == (400, "bad-request")
    assert service.get(f"/v1/jobs/{done}/rejects?format=json").what == (400, "bad-request")
    assert service.get(f"/v1/jobs/{done}/rejects?format=csv").status == 200
    assert service.get(f"/v1/jobs/{done}/events?graph=yes").what == (400, "bad-request")


def events_of(response: urllib3.BaseHTTPResponse, into: list[tuple[str, dict[str, object]]]) -> None:
    rest = b""
    for chunk in response.stream(4096):
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            lines = block.decode().splitlines()
            if lines[0].startswith("event: "):
                into.append((lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))))


def test_the_stream_of_all_jobs_reports_each_change(tmp_path: Path, case: Case) -> None:
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1") as service:
        service.create("before", queries=["q1"])
        http = urllib3.PoolManager(retries=False)
        response = http.request("GET", f"{service.url}/v1/events", preload_content=False)
        seen: list[tuple[str, dict[str, object]]] = []
        reader = threading.Thread(target=events_of, args=(response, seen))
        reader.start()
        until("the list", lambda: bool(seen))
        service.create("after", queries=["q1"])
        service.upload("before", [piece for piece in case.pieces if piece.table == "books"])
        service.ask("DELETE", "/v1/jobs/after")

        def states(job: str) -> list[object]:
            return [data["state"] for name, data in list(seen) if name == "status" and data["job"] == job]

        until("the end of one", lambda: "done" in states("before"))
        until("the end of the other", lambda: "cancelled" in states("after"))
        assert seen[0][0] == "all"
        service.stop()
        reader.join(20)
        assert not reader.is_alive()


def test_the_event_stream_of_a_job_includes_its_graph_on_request(service: Running, done: str) -> None:
    seen: list[tuple[str, dict[str, object]]] = []
    response = service.http.request("GET", f"{service.url}/v1/jobs/{done}/events?graph=true", preload_content=False)
    events_of(response, seen)
    assert [name for name, _ in seen] == ["status", "graph"]
    assert seen[1][1]["live"] is False


def test_streams_and_graphs_are_visible_to_their_owner_only(service: Running) -> None:
    reply = service.ask("GET", "/v1/events", token="cauce_nobody")
    assert reply.what == (401, "unauthorized")
    assert service.get("/v1/jobs/nobody/graph").what == (404, "no-such-job")


def test_cluster_changes_are_streamed(service: Running) -> None:
    response = service.http.request("GET", f"{service.url}/v1/cluster/live", preload_content=False)
    received = b""
    for chunk in response.stream(4096):
        received += chunk
        if b"event: processes" in received and b"event: events" in received and received.endswith(b"\n\n"):
            break
    response.close()
    line = next(line for line in received.splitlines() if line.startswith(b"data: ") and b'"processes"' in line)
    processes = json.loads(line.removeprefix(b"data: "))["processes"]
    assert {each["role"] for each in processes} == {"doctor", "gateway", "worker"}


def test_process_logs_are_shown_to_local_users_only(service: Running) -> None:
    received = service.get("/v1/cluster/processes/gateway-1/log").json()
    assert "gateway started" in str(received["text"])
    for name in ("nobody-1", "worker-999", "..%2f..%2fetc%2fpasswd", "gateway-1%00"):
        reply = service.get(f"/v1/cluster/processes/{name}/log")
        assert reply.status == 404 or reply.json()["text"] == ""


def test_a_gateway_by_itself_has_no_cluster(tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as alone:
        assert alone.get("/v1/cluster/live").what == (404, "not-found")


def test_a_log_is_searched_in_any_case(service: Running) -> None:
    found = service.get("/v1/cluster/processes/gateway-1/log?search=GATEWAY%20started").json()
    lines = str(found["text"]).splitlines()
    assert found["matches"] == len(lines) >= 1
    assert all("gateway started" in line for line in lines)
    none = service.get("/v1/cluster/processes/gateway-1/log?search=no-such-words-anywhere").json()
    assert (none["matches"], none["text"]) == (0, "")
    assert service.get(f"/v1/cluster/processes/gateway-1/log?search={'x' * 201}").status == 400


@pytest.mark.parametrize("name", ["doctor-1", "worker-999", "nobody-1", "gateway-1%00"])
def test_only_known_workers_and_gateways_can_be_stopped(service: Running, name: str) -> None:
    assert service.send_json("PUT", f"/v1/cluster/processes/{name}", {"running": False}).status == 404


def test_a_stage_of_a_job_is_shown_to_its_owner_only(service: Running) -> None:
    assert service.get("/v1/jobs/nobody/stages/0").what == (404, "no-such-job")
    assert service.get("/v1/jobs/nobody/rejects/reasons").what == (404, "no-such-job")
