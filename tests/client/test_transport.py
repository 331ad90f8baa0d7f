"""Requests reach a gateway whatever happens on the way, and are given up in time when nothing helps."""

from __future__ import annotations

import contextlib
import io
import random
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cauce.client import Service
from cauce.client.connection_problems import problem_of
from cauce.client.settings import ConnectionSettings
from cauce.client.transport import Broken, Stopped, Transport, is_loopback
from cauce.errors import Refused, RefusedRequest, Unreachable, UsageError
from tests.client.fake import Fake, FakeJob

HURRIED_S = 0.4


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.jobs["j"] = FakeJob({"dataset": "books", "queries": []})
        yield running


def transport(
    *urls: str, patience_s: float = 20.0, token: str | None = None, seed: int = 1, printed: list[str] | None = None
) -> Transport:
    on_connection = None if printed is None else printed.append
    return Transport(urls, ConnectionSettings(token, None, patience_s, 60.0, 4, on_connection), random.Random(seed))


def closed_address() -> str:
    """An address without a listener."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{reserved.getsockname()[1]}"


@pytest.mark.parametrize("what", ["drop", "forget", "refuse", "torn"])
def test_a_failed_request_is_retried(fake: Fake, what: str) -> None:
    fake.fail("GET /v1/jobs/j", what, times=3)  # type: ignore[arg-type]
    assert transport(fake.url).request("GET", "/v1/jobs/j").status == 200
    assert fake.count("GET /v1/jobs/j") == 4


@pytest.mark.parametrize("status", [429, 503, 425])
def test_retry_after_is_waited_for(fake: Fake, status: int) -> None:
    fake.fail("GET", "refuse", status=status, retry_after="0.3")
    transport(fake.url).request("GET", "/v1/jobs/j")
    first, second = fake.seen
    assert second.at - first.at >= 0.3


def test_an_invalid_retry_after_is_ignored(fake: Fake) -> None:
    fake.fail("GET", "refuse", status=429, retry_after="soon")
    assert transport(fake.url).request("GET", "/v1/jobs/j").status == 200


def test_a_permanent_error_is_not_retried(fake: Fake) -> None:
    fake.fail("PUT", "refuse", status=409, code="part-differs")
    with pytest.raises(Refused, match="it is part-differs") as refusal:
        transport(fake.url).request("PUT", "/v1/jobs/j", b"{}")
    assert (refusal.value.status, refusal.value.code) == (409, "part-differs")
    assert not isinstance(refusal.value, UsageError)
    assert fake.count("PUT") == 1


def test_an_unknown_job_is_a_refused_request(fake: Fake) -> None:
    with pytest.raises(RefusedRequest) as refusal:
        transport(fake.url).request("GET", "/v1/jobs/none")
    assert refusal.value.code == "no-such-job"


def test_an_error_without_a_problem_document_is_reported_by_its_status(fake: Fake) -> None:
    with pytest.raises(Refused, match="404"):
        transport(fake.url).request("HEAD", "/v1/nothing")


@pytest.mark.parametrize("seed", range(4))
def test_an_unreachable_gateway_is_skipped(fake: Fake, seed: int) -> None:
    several = [closed_address(), fake.url, closed_address()]
    printed: list[str] = []
    over = transport(*several, seed=seed, printed=printed)
    started = time.monotonic()
    for _ in range(5):
        assert over.request("GET", "/v1/jobs/j").status == 200
    # Without a pause between the first looks at each: nothing is gained by waiting.
    assert time.monotonic() - started < 10
    assert printed == []


def test_after_a_503_another_gateway_is_tried(fake: Fake) -> None:
    with Fake(beside=fake) as other:
        fake.fail("GET", "refuse", times=1000)
        over = transport(fake.url, other.url)
        for _ in range(3):
            over.request("GET", "/v1/jobs/j")
        assert other.count("GET") == 3
        assert fake.count("GET") <= 1


def test_silence_is_borne_only_so_long() -> None:
    address = closed_address()
    port = address.rpartition(":")[2]
    with pytest.raises(Unreachable) as problem:
        transport(address, patience_s=HURRIED_S).request("GET", "/v1/jobs")
    output = str(problem.value)
    assert output.startswith(f"cannot reach {address}: connection refused; start the service with ")
    assert output.endswith(f"./cauce serve --dir FOLDER --port {port}, or give another address with --gateway")


def test_an_address_without_a_port_gets_a_hint() -> None:
    found = problem_of("http://gateway.test", ConnectionRefusedError(), reached=False)
    assert found.advice.endswith("that of a service is 8080 unless it was given another: http://gateway.test:8080")


def test_of_several_gateways_all_are_named() -> None:
    one, other = closed_address(), closed_address()
    with pytest.raises(Unreachable, match="cannot reach any of 2 gateways") as problem:
        transport(one, other, patience_s=0).request("GET", "/v1/jobs")
    for address in (one, other):
        assert f"{address}: connection refused" in str(problem.value)


def test_a_lost_connection_is_reported_while_it_is_retried_and_when_it_is_back(fake: Fake) -> None:
    printed: list[str] = []
    over = transport(fake.url, printed=printed)
    over.request("GET", "/v1/jobs/j")
    assert printed == []
    fake.fail("GET", "drop", times=4)
    assert over.request("GET", "/v1/jobs/j").status == 200
    assert len(printed) == 2
    assert re.fullmatch(
        rf"cannot reach {fake.url}: the connection was closed without an answer; retrying for up to 20 s, Ctrl-C stops",
        printed[0],
    )
    assert re.fullmatch(rf"connected to {fake.url} again after [\d.]+ s", printed[1])


def test_a_lost_connection_is_reported_once_by_many_threads() -> None:
    printed: list[str] = []
    over = transport(closed_address(), patience_s=HURRIED_S, printed=printed)

    def ask() -> None:
        with pytest.raises(Unreachable):
            over.request("GET", "/v1/jobs")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(printed) == 1


def test_an_unknown_host_name_is_not_retried() -> None:
    with pytest.raises(Unreachable, match=r"host name nowhere\.invalid cannot be resolved; check the spelling"):
        transport("http://nowhere.invalid:8080", patience_s=3600).request("GET", "/v1/jobs")


def test_a_host_name_that_does_not_exist_is_passed_over(fake: Fake) -> None:
    for seed in range(4):
        assert transport("http://nowhere.invalid", fake.url, seed=seed).request("GET", "/v1/jobs/j").status == 200


@contextlib.contextmanager
def speaking(greeting: bytes, *, silent: bool = False) -> Iterator[str]:
    """A server of something else: it sends its greeting on connect, and closes or sends nothing more."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(greeting)
                    if silent:
                        held.append(connection)
                    else:
                        connection.recv(65536)
                        connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for connection in held:
        connection.close()


HTML = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>hi</html>"


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found", b"301 Moved", b"401 Unauthorized"])
def test_another_web_server_is_named_as_one(status: bytes) -> None:
    with speaking(HTML % status) as address, pytest.raises(Unreachable) as problem:
        transport(f"http://{address}", patience_s=3600).request("GET", "/v1/jobs")
    output = str(problem.value)
    assert output.startswith(
        f"http://{address} answered GET /v1/jobs with status {int(status[:3])} and text/html, unlike"
    )
    assert "a server other than Cauce listens there" in output


def test_json_of_another_server_is_named_as_such() -> None:
    body = b'{"hello": "world"}'
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with speaking(reply) as address, Service(f"http://{address}") as service:
        for ask in (service.jobs, service.job("j").status, service.job("j").why):
            with pytest.raises(Unreachable, match="a server other than Cauce"):
                ask()


def test_a_server_that_does_not_speak_http_is_named_as_one() -> None:
    with speaking(b"SSH-2.0-OpenSSH_9.6\r\n") as address, pytest.raises(Unreachable) as problem:
        transport(f"http://{address}", patience_s=3600).request("GET", "/v1/jobs")
    assert f"cannot reach http://{address}: the server does not speak HTTP; a server other than" in str(problem.value)


def test_https_to_an_http_server_is_reported(fake: Fake) -> None:
    secure = fake.url.replace("http://", "https://")
    with pytest.raises(Unreachable, match=f"does not speak https; write the address as {fake.url}$"):
        transport(secure, patience_s=3600).request("GET", "/v1/jobs")


def test_http_to_an_https_server_is_reported(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    address = f"127.0.0.1:{server.server_address[1]}"
    try:
        with pytest.raises(Unreachable, match=f"speaks https, not http; write the address as https://{address}$"):
            transport(f"http://{address}", patience_s=3600).request("GET", "/v1/jobs")
        with pytest.raises(Unreachable, match=r"its certificate is not trusted \(self-signed certificate\); .* --ca$"):
            transport(f"https://{address}", patience_s=3600).request("GET", "/v1/jobs")
    finally:
        server.shutdown()
        server.server_close()


def test_a_response_timeout_is_reported() -> None:
    hurried = ConnectionSettings(patience_s=0, answer_s=0.2, on_connection=None)
    with speaking(b"", silent=True) as address, pytest.raises(Unreachable, match="connected, but no response before"):
        Transport([f"http://{address}"], hurried).request("GET", "/v1/jobs")


def test_a_host_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener whose backlog is full, so that the kernel drops what comes after."""
    monkeypatch.setattr("cauce.client.transport.CONNECT_S", 0.2)
    with socket.socket() as server, contextlib.ExitStack() as waiting:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        for _ in range(4):
            early = waiting.enter_context(socket.socket())
            early.setblocking(False)
            early.connect_ex(address)
        with pytest.raises(Unreachable, match="the host does not answer; check that the service is running there"):
            transport(f"http://127.0.0.1:{address[1]}", patience_s=0).request("GET", "/v1/jobs")


@pytest.mark.parametrize("token", ["a b", "a\nb", "ñ"])
def test_a_token_with_invalid_characters_is_a_usage_error(token: str) -> None:
    with pytest.raises(UsageError, match="the token contains invalid characters"):
        transport("http://127.0.0.1:1", token=token)


def test_a_repeated_error_of_the_gateway_is_raised(fake: Fake) -> None:
    fake.fail("PUT", "refuse", times=1000, status=429, code="too-many-jobs")
    with pytest.raises(Refused) as refusal:
        transport(fake.url, patience_s=HURRIED_S).request("PUT", "/v1/jobs/x", b"{}")
    assert refusal.value.code == "too-many-jobs"


def test_the_retry_deadline_restarts_after_every_success(fake: Fake) -> None:
    over = transport(fake.url, patience_s=1.0)
    stop = threading.Event()

    def succeed() -> None:
        while not stop.wait(0.05):
            over.request("GET", "/v1/jobs/j")

    helper = threading.Thread(target=succeed)
    helper.start()
    try:
        fake.fail("PUT", "refuse", times=6, status=429, retry_after="0.25")
        assert over.request("PUT", "/v1/jobs/j", b'{"dataset": "books", "queries": []}').status == 200
    finally:
        stop.set()
        helper.join()


def test_a_stopped_request_is_not_retried(fake: Fake) -> None:
    fake.fail("GET", "refuse", times=1000, status=429, retry_after="60")
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Stopped):
        transport(fake.url, patience_s=1000).request("GET", "/v1/jobs/j", stop=stop)


def test_an_interrupted_download_is_restarted(fake: Fake) -> None:
    fake.jobs["j"].answers["q1"] = [[number, "x" * 50] for number in range(5000)]
    fake.fail("GET .*results", "torn", times=2)
    into = io.BytesIO()
    transport(fake.url).download("/v1/jobs/j/results/q1", "text/csv", into)
    assert into.getvalue() == b"a,b\n" + b"".join(b"%d,%s\n" % (number, b"x" * 50) for number in range(5000))


def test_a_download_that_is_refused_writes_nothing(fake: Fake) -> None:
    fake.fail("GET .*results", "refuse", status=404, code="no-such-query")
    into = io.BytesIO()
    with pytest.raises(Refused):
        transport(fake.url).download("/v1/jobs/j/results/q1", "text/csv", into)
    assert into.getvalue() == b""


def test_an_interrupted_event_stream_is_reported(fake: Fake) -> None:
    fake.fail("GET .*events", "torn")
    with pytest.raises(Broken):
        list(transport(fake.url).events("/v1/jobs/j/events"))
    (event,) = transport(fake.url).events("/v1/jobs/j/events")
    assert event.startswith(b'{"owner"')


def test_the_token_travels_with_every_request(fake: Fake) -> None:
    fake.token = "secret"
    assert transport(fake.url, token="secret").request("GET", "/v1/jobs/j").status == 200
    with pytest.raises(RefusedRequest) as refusal:
        transport(fake.url, token="other").request("GET", "/v1/jobs/j")
    assert refusal.value.status == 401
    assert "other" not in str(refusal.value)


def test_connections_are_reused(fake: Fake) -> None:
    over = transport(fake.url)
    for _ in range(5):
        over.request("GET", "/v1/jobs/j")
    assert over.gateways[0].pool.num_connections == 1


@pytest.mark.parametrize("address", ["ftp://a", "http://", "http://a/b", "http://a?x=1", "http://u:p@a", "http://a:b"])
def test_an_invalid_address_is_a_usage_error(address: str) -> None:
    with pytest.raises(UsageError, match="invalid gateway address"):
        Transport([address])


def test_a_missing_address_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no gateway given"):
        Transport([])


@pytest.mark.parametrize(
    ("host", "is_it"), [("127.0.0.1", True), ("[::1]", True), ("localhost", True), ("10.0.0.1", False), ("a.b", False)]
)
def test_loopback_addresses_are_known(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
    assert Transport([f"http://{host}:80"]).loopback is is_it


def test_a_lost_connection_is_logged_in_python(caplog: pytest.LogCaptureFixture) -> None:
    address = closed_address()
    with Service(address, patience_s=HURRIED_S) as service, pytest.raises(Unreachable):
        service.jobs()
    assert [record.name for record in caplog.records if "cannot reach" in record.message] == ["cauce.client"]
    assert f"cannot reach {address}: connection refused; retrying" in caplog.text
