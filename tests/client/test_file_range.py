"""Bodies that lie in files: exactly their bytes are sent, and a file that became shorter is an error."""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path

import pytest

from cauce.client.file_range import FileRange
from cauce.client.settings import ConnectionSettings
from cauce.client.transport import Transport
from cauce.errors import JobFailed
from tests.client.fake import Fake

CONTENT = random.Random(1).randbytes(3_000_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_bytes(CONTENT)
    return path


def received(sent: FileRange, timeout_s: float | None) -> bytes:
    """The bytes that arrive at the other end of a socket."""
    one, other = socket.socketpair()
    pieces: list[bytes] = []

    def read() -> None:
        while piece := other.recv(1 << 16):
            pieces.append(piece)

    with one, other:
        one.settimeout(timeout_s)
        reader = threading.Thread(target=read)
        reader.start()
        try:
            sent.send(one)
        finally:
            one.shutdown(socket.SHUT_WR)
            reader.join()
    return b"".join(pieces)


@pytest.mark.parametrize("timeout_s", [None, 20.0])
@pytest.mark.parametrize("span", [(0, 1), (0, len(CONTENT)), (4097, 2_500_000), (len(CONTENT) - 1, len(CONTENT))])
def test_the_bytes_of_the_range_are_sent(path: Path, span: tuple[int, int], timeout_s: float | None) -> None:
    start, end = span
    assert received(FileRange(str(path), start, end - start), timeout_s) == CONTENT[start:end]


def test_a_file_that_became_shorter_is_an_error(path: Path) -> None:
    with pytest.raises(JobFailed, match=r"data.csv was truncated during the upload"):
        received(FileRange(str(path), len(CONTENT) - 10, 11), 20.0)


def test_a_request_has_the_range_as_its_body_and_states_its_length(path: Path) -> None:
    with Fake() as fake:
        transport = Transport([fake.url], ConnectionSettings(patience_s=5.0))
        transport.request("PUT", "/v1/jobs/j", b'{"dataset": "books", "queries": ["q1"]}')
        body = FileRange(str(path), 100, 2_000_000)
        transport.request("PUT", "/v1/jobs/j/tables/books/parts/0", body, {"Content-Type": "text/csv"})
        part = fake.jobs["j"].tables["books"].parts[0]
        headers = {name.lower(): value for name, value in part.headers.items()}
        transport.close()
    assert part.body == CONTENT[100:2_000_100]
    assert headers["content-length"] == "2000000"
    assert "transfer-encoding" not in headers
