"""Clients that hold sockets open and do nothing: others go on, with the settings that a service has by default."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cauce.gateway.tokens import create_token
from tests.service.running import Running
from tests.service.test_http_bodies import connect
from tests.service.test_http_status import BOOK

PART_BYTES = 64 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crowded")


@pytest.fixture(scope="module")
def tokens(folder: Path) -> dict[str, str]:
    return {name: create_token(folder / "service" / "tokens.json", name) for name in ("ana", "ben")}


@pytest.fixture(scope="module")
def gateway(folder: Path, tokens: dict[str, str]) -> Iterator[Running]:
    with Running(folder, "gateway") as running:
        assert running.create("crowded", queries=["q1"]).status == 201
        yield running


def start_body(connection: socket.socket, seq: int) -> None:
    """The head of a part of the largest size, and one byte."""
    lines = [f"PUT /v1/jobs/crowded/tables/books/parts/{seq} HTTP/1.1", "Host: localhost", "Content-Type: text/csv"]
    lines += [f"Content-Length: {PART_BYTES}", "Expect: 100-continue"]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
    assert connection.recv(12) == b"HTTP/1.1 100"
    connection.sendall(b"x")


def open_stream(gateway: Running, token: str = "") -> tuple[socket.socket, bytes]:
    """A connection that asked for events, and the status of the answer."""
    connection = connect(gateway)
    access = f"Authorization: Bearer {token}\r\n" if token else ""
    connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{access}\r\n".encode())
    return connection, connection.recv(12)[9:]


def test_bodies_of_one_byte_leave_room_for_others(gateway: Running) -> None:
    with ExitStack() as opened:
        for seq in range(8):
            start_body(opened.enter_context(connect(gateway)), 100 + seq)
        path = "/v1/jobs/crowded/tables/books/parts/0"
        assert gateway.ask("PUT", path, BOOK, {"Content-Type": "text/csv"}).status == 201
        assert gateway.complete("crowded", "books", 1).status == 200


def test_idle_event_streams_leave_room_for_requests(gateway: Running) -> None:
    with ExitStack() as opened:
        states = []
        for _ in range(600):
            connection, status = open_stream(gateway)
            opened.enter_context(connection)
            states.append(status)
        assert states.count(b"200") >= 500
        assert set(states) == {b"200", b"429"}
        for path in ("/healthz", "/readyz", "/v1/jobs", "/metrics"):
            assert gateway.get(path).status == 200


def test_an_owner_cannot_take_all_event_streams(gateway: Running, tokens: dict[str, str]) -> None:
    with ExitStack() as opened:
        states = []
        for name in ["ana"] * 70 + ["ben"]:
            connection, status = open_stream(gateway, tokens[name])
            opened.enter_context(connection)
            states.append(status)
        assert states == [b"200"] * 64 + [b"429"] * 6 + [b"200"]
