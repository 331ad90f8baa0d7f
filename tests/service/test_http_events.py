"""The stream of a job's events."""

from __future__ import annotations

import json
import signal
import socket
import threading
from itertools import pairwise
from pathlib import Path

import urllib3

from tests.service.conftest import Case
from tests.service.running import Running, until


def stream(running: Running, job: str, into: list[dict[str, object]]) -> urllib3.BaseHTTPResponse:
    response = running.http.request("GET", f"{running.url}/v1/jobs/{job}/events", preload_content=False)
    assert response.status == 200
    assert response.headers["content-type"] == "text/event-stream"
    rest = b""
    for chunk in response.stream(4096):
        *events, rest = (rest + chunk).split(b"\n\n")
        for event in events:
            lines = event.splitlines()
            if lines[0] == b"event: status":
                into.append(json.loads(lines[1].removeprefix(b"data: ")))
            else:
                assert event.startswith(b":")
    assert rest == b""
    return response


def test_events_cover_a_job_from_creation_to_end(service: Running, case: Case) -> None:
    service.create("watched", queries=["q1"])
    seen: list[dict[str, object]] = []
    watcher = threading.Thread(target=lambda: stream(service, "watched", seen))
    watcher.start()
    until("the first event", lambda: bool(seen))
    service.upload("watched", [piece for piece in case.pieces if piece.table == "books"])
    watcher.join(60)
    assert not watcher.is_alive()
    assert seen[0]["state"] == "created"
    assert seen[-1]["state"] == "done"
    assert all(before != after for before, after in pairwise(seen))


def test_events_of_a_job_that_has_ended_are_its_end(service: Running, done: str) -> None:
    seen: list[dict[str, object]] = []
    stream(service, done, seen)
    assert [event["state"] for event in seen] == ["done"]


def test_events_end_when_the_job_is_cancelled(service: Running) -> None:
    service.create("unwanted", queries=["q1"])
    seen: list[dict[str, object]] = []
    watcher = threading.Thread(target=lambda: stream(service, "unwanted", seen))
    watcher.start()
    until("the first event", lambda: bool(seen))
    service.ask("DELETE", "/v1/jobs/unwanted")
    watcher.join(20)
    assert not watcher.is_alive()
    assert seen[-1]["state"] == "cancelled"


def test_a_gateway_with_open_streams_polls_and_uploads_stops_in_good_order(tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as gateway:
        gateway.create("open", queries=["q1"])
        seen: list[dict[str, object]] = []
        polled: list[int] = []
        watcher = threading.Thread(target=lambda: stream(gateway, "open", seen))
        poller = threading.Thread(target=lambda: polled.append(gateway.get("/v1/jobs/open/results/q1?wait=30").status))
        watcher.start()
        poller.start()
        until("the first event", lambda: bool(seen))
        with socket.create_connection(("127.0.0.1", gateway.port)) as slow:
            slow.sendall(
                b"PUT /v1/jobs/open/tables/books/parts/0 HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                b"Content-Length: 1000\r\n\r\nTitle"
            )
            gateway.process.send_signal(signal.SIGTERM)
            assert gateway.process.wait(10) == 0
            assert slow.recv(100).startswith(b"HTTP/1.1 503 ")
        watcher.join(5)
        poller.join(5)
        assert not watcher.is_alive()
        assert polled == [200]
    assert not gateway.events("gateway cut off")
