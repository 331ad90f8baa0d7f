"""A service whose disk is full: all doctors go on, and with room again so do the jobs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.cluster import Cluster
from tests.service.conftest import QUERIES, Case
from tests.service.running import until
from tests.service.test_http_kills import finish

DISK_MB = 48


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "small", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """To the last byte. A process that ends gives a little back, which is taken too."""

    def is_full() -> bool:
        with (disk / "ballast").open("ab", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(b"x" * 4096)
        return free_bytes(disk) == 0

    until("the disk to be full", is_full)


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def doctors(cluster: Cluster) -> dict[str, int]:
    return {name: each.pid for name, each in cluster.alive().items() if name.startswith("doctor-")}


def test_all_doctors_go_on_and_jobs_end_once_there_is_room(disk: Path, case: Case) -> None:
    with Cluster(disk, workers=2, gateways=1) as cluster:
        cluster.until_well()
        before = doctors(cluster)
        log = cluster.home.log(cluster.until_leader())

        def cannot_log() -> bool:
            """The leader logs each crash, and the last page of its log is full."""
            fill(disk)
            kill_workers(cluster)
            return log.stat().st_size % os.sysconf("SC_PAGE_SIZE") == 0

        until("a log without room", cannot_log)
        seen = deaths(cluster)
        until("more deaths", lambda: not fill(disk) and deaths(cluster) > seen)
        assert doctors(cluster) == before
        (disk / "ballast").unlink()
        cluster.until_well()
        assert doctors(cluster) == before
        cluster.until_replaced(cluster.kill(["worker-1"]))
        until("a log that goes on", lambda: "log lines lost" in log.read_text())
        assert cluster.service.create("after", queries=QUERIES).status == 201
        cluster.service.upload("after", case.pieces)
        finish(cluster.service, "after", case.pieces, case)


def kill_workers(cluster: Cluster) -> None:
    """Those that are alive: on a full disk a worker may end by itself meanwhile."""
    for name, each in cluster.alive().items():
        if name.startswith("worker-"):
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)


def deaths(cluster: Cluster) -> int:
    """As a doctor knows of them, which answers although it cannot write."""
    return sum(row.restarts for row in cluster.rows())
