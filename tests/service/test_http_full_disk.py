"""A full disk: jobs can still be deleted, and the gateway reports that it is not ready."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Running, until
from tests.service.test_http_status import BOOK

DISK_BYTES = 8 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk, as the directory of a service."""
    folder = tmp_path / "service"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "small", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs rights that this user lacks")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def fill(disk: Path) -> None:
    """To the last byte, which is proven."""
    with (disk / "filler").open("ab", buffering=0) as file:
        while free_bytes(disk):
            file.write(b"x" * (1 << 16))
        with pytest.raises(OSError, match="No space left"):
            file.write(b"x" * (1 << 16))
    assert free_bytes(disk) == 0


def put(gateway: Running, job: str, seq: int, body: bytes) -> int:
    path = f"/v1/jobs/{job}/tables/books/parts/{seq}"
    return gateway.ask("PUT", path, body, {"Content-Type": "text/csv"}).status


def test_jobs_are_deleted_though_the_disk_is_full(tmp_path: Path, disk: Path) -> None:
    with Running(tmp_path, "gateway", "--limit", "free_bytes=1000000") as gateway:
        for job in ("large", "small"):
            assert gateway.create(job, queries=["q1"]).status == 201
            assert put(gateway, job, 0, BOOK) == 201
        assert put(gateway, "large", 1, BOOK + b"x" * (3 << 20)) == 201
        assert gateway.get("/readyz").status == 200
        fill(disk)
        assert put(gateway, "small", 1, BOOK + b"x" * (1 << 20)) == 503
        reply = gateway.get("/readyz")
        assert reply.what == (503, "no-room")
        assert str(reply.json()["detail"]).startswith("disk almost full")
        assert gateway.get("/healthz").status == 200
        assert gateway.ask("DELETE", "/v1/jobs/large").json()["state"] == "cancelled"
        until("room", lambda: free_bytes(disk) >= 3 << 20)
        assert gateway.get("/readyz").status == 200
        assert gateway.state("large") == "cancelled"
        assert put(gateway, "small", 2, BOOK) == 201
    with Running(tmp_path, "gateway") as another:
        assert another.state("large") == "cancelled"
        assert another.state("small") == "receiving"


def test_uploads_expire_though_the_disk_is_full(tmp_path: Path, disk: Path) -> None:
    with Running(tmp_path, "gateway", "--limit", "receiving_seconds=2") as gateway:
        assert gateway.create("idle", queries=["q1"]).status == 201
        assert put(gateway, "idle", 0, BOOK + b"x" * (3 << 20)) == 201
        fill(disk)
        until("the end of the upload", lambda: free_bytes(disk) >= 3 << 20)
        assert gateway.state("idle") == "expired"
