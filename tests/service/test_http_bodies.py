"""Bodies that lie, stall, break off or are never sent; clients that do not read; too many at once."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.service.running import Running, until
from tests.service.test_http_status import BOOK

PATH = "/v1/jobs/body/tables/books/parts/"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = ["silence_s=1", "requests=8", "streams=8", "part_bytes=2000000", "room_bytes=2000000"]
    options = [word for limit in limits for word in ("--limit", limit)]
    with Running(tmp_path_factory.mktemp("bodies"), "gateway", *options) as running:
        running.create("body", queries=["q1"])
        yield running
    assert running.process.returncode == 0
    assert not running.events("internal error"), running.log_text()


def connect(gateway: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=30)


def head(seq: int, *lines: str) -> bytes:
    request_head = "\r\n".join([f"PUT {PATH}{seq} HTTP/1.1", "Host: localhost", "Content-Type: text/csv", *lines])
    return request_head.encode() + b"\r\n\r\n"


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side ends."""
    got = b""
    try:
        while data := connection.recv(65536):
            got += data
    except ConnectionResetError:
        pass
    return got


def one_answer(connection: socket.socket) -> bytes:
    """An answer whose body is one JSON object."""
    got = b""
    while not got.endswith(b"}"):
        got += connection.recv(65536)
    return got


def test_a_body_that_stalls_is_given_up(gateway: Running) -> None:
    with connect(gateway) as connection:
        connection.sendall(head(1, "Content-Length: 1000") + b"Title")
        assert answer(connection).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_breaks_off_is_not_held(gateway: Running) -> None:
    with connect(gateway) as connection:
        connection.sendall(head(2, f"Content-Length: {len(BOOK) + 50}") + BOOK)
    with connect(gateway) as connection:
        connection.sendall(head(2, "Transfer-Encoding: chunked") + b"%x\r\n%s\r\n" % (len(BOOK), BOOK))
    time.sleep(0.2)
    assert gateway.get("/v1/jobs/body/tables/books").json()["count"] == 0


def test_a_body_above_the_limit_is_rejected_before_it_is_read(gateway: Running) -> None:
    for announced in ("2000001", str(2**31), str(2**62)):
        with connect(gateway) as connection:
            connection.sendall(head(3, f"Content-Length: {announced}", "Expect: 100-continue"))
            got = answer(connection)
            assert got.startswith(b"HTTP/1.1 413 ")
            assert b"part-too-large" in got


@pytest.mark.parametrize("announced", ["-1", "x", "1, 2", str(2**64), "1\r\nContent-Length: 2", "0x10"])
def test_an_invalid_content_length_is_a_bad_request(gateway: Running, announced: str) -> None:
    with connect(gateway) as connection:
        connection.sendall(head(4, f"Content-Length: {announced}"))
        assert answer(connection).startswith(b"HTTP/1.1 400 ")


def test_a_client_that_sends_too_much_without_listening_gets_its_answer(gateway: Running) -> None:
    sent = threading.Event()
    with connect(gateway) as connection:

        def send() -> None:
            try:
                connection.sendall(head(5, "Transfer-Encoding: chunked"))
                for _ in range(100):
                    connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            except OSError:
                pass
            sent.set()

        sender = threading.Thread(target=send)
        sender.start()
        # As a plain client does, it looks for an answer only when all has been sent.
        assert sent.wait(30)
        assert answer(connection).startswith(b"HTTP/1.1 413 ")
        sender.join()


def test_the_connection_stays_usable_after_an_unread_small_body(gateway: Running) -> None:
    with connect(gateway) as connection:
        request = b"PUT /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
        connection.sendall(request)
        first = one_answer(connection)
        connection.sendall(request)
        second = one_answer(connection)
        assert first.startswith(b"HTTP/1.1 404 ")
        assert second.startswith(b"HTTP/1.1 404 ")
        assert b"connection: close" not in first


def test_an_unlimited_request_head_is_rejected(gateway: Running) -> None:
    for start in (b"GET / HTTP/1.1\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\n"):
        with connect(gateway) as connection:
            try:
                connection.sendall(start)
                for _ in range(40):
                    connection.sendall(b"a" * 4000 + (b": b\r\n" if start.endswith(b"1\r\n") else b""))
            except OSError:
                pass
            got = answer(connection)
            assert not got or got[9:12] in (b"400", b"414", b"431")


def test_trailers_and_chunk_extensions_without_end_are_refused(gateway: Running) -> None:
    for start in (b"0\r\nX: ", b"5;"):
        with connect(gateway) as connection:
            try:
                connection.sendall(head(6, "Transfer-Encoding: chunked") + start)
                for _ in range(100):
                    connection.sendall(b"a" * 4000)
            except OSError:
                pass
            got = answer(connection)
            assert not got or got[9:10] == b"4"


def test_disconnected_clients_leave_no_open_connections(gateway: Running) -> None:
    for number in range(40):
        with connect(gateway) as connection:
            if number % 2:
                connection.sendall(head(7, "Content-Length: 100000") + b"x" * 100)
            else:
                connection.sendall(b"GET /v1/jobs/body/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                connection.recv(10)

    def nothing_open() -> bool:
        text = gateway.get("/metrics").body.decode()
        return "cauce_open_requests 1.0" in text and "cauce_body_bytes 0.0" in text

    until("the end of all requests", nothing_open, 20)


def test_a_body_that_trickles_is_given_up(gateway: Running) -> None:
    with connect(gateway) as connection:
        connection.sendall(head(11, "Content-Length: 100000"))
        connection.settimeout(0.1)
        got = b""
        for _ in range(300):
            connection.sendall(b"x")
            with suppress(TimeoutError):
                got = connection.recv(12)
                break
        assert got == b"HTTP/1.1 408"


def test_a_slow_body_at_the_minimum_rate_is_accepted(gateway: Running) -> None:
    """About 8 kB a second, where 1 kB is the least."""
    body = BOOK + b"".join(b"Title %d,x\n" % number for number in range(2000))
    with connect(gateway) as connection:
        connection.sendall(head(0, f"Content-Length: {len(body)}"))
        for start in range(0, len(body), 1600):
            connection.sendall(body[start : start + 1600])
            time.sleep(0.2)
        assert one_answer(connection).startswith(b"HTTP/1.1 201 ")


def test_concurrent_requests_above_the_limit_get_429(gateway: Running) -> None:
    waiting = [connect(gateway) for _ in range(8)]
    try:
        for seq, connection in enumerate(waiting):
            connection.sendall(head(20 + seq, "Content-Length: 2000", "Expect: 100-continue"))
            assert connection.recv(12) == b"HTTP/1.1 100"
        reply = gateway.get("/v1/jobs")
        assert reply.what == (429, "too-many-requests")
        assert int(reply.headers["retry-after"]) >= 1
        assert gateway.get("/healthz").status == gateway.get("/readyz").status == 200
    finally:
        for connection in waiting:
            connection.close()
    until("room again", lambda: gateway.get("/v1/jobs").status == 200, 20)


def test_concurrent_event_streams_above_the_limit_get_429(gateway: Running) -> None:
    waiting = [connect(gateway) for _ in range(9)]
    try:
        for connection in waiting[:8]:
            connection.sendall(b"GET /v1/jobs/body/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        waiting[8].sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = one_answer(waiting[8])
        assert got.startswith(b"HTTP/1.1 429 ")
        assert b"too-many-streams" in got
        assert gateway.get("/v1/jobs").status == 200
    finally:
        for connection in waiting:
            connection.close()


def test_bodies_wait_for_room(gateway: Running) -> None:
    """The bodies of one owner are limited together: further ones are read when the first is complete."""
    with connect(gateway) as first, connect(gateway) as second:
        size = 1_500_000
        first.sendall(head(8, f"Content-Length: {size}") + b"x" * (size - 1))
        until("the first", lambda: "cauce_body_bytes 1.499999e+06" in gateway.get("/metrics").body.decode(), 20)
        second.sendall(head(9, f"Content-Length: {len(BOOK)}") + BOOK)
        second.settimeout(0.3)
        with pytest.raises(TimeoutError):
            second.recv(100)
        second.settimeout(30)
        first.close()
        assert one_answer(second).startswith(b"HTTP/1.1 201 ")


def test_a_protocol_upgrade_is_ignored(gateway: Running) -> None:
    with connect(gateway) as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert connection.recv(100)[9:10] in (b"2", b"4")
