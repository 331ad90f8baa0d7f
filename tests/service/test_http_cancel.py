"""Cancelling releases everything at once, also while crashed workers are being restarted."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.service.conftest import QUERIES, Case
from tests.service.running import Running, pieces_of, until

TIMES = 3


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_cancelling_during_recovery_releases_only_that_job(tmp_path: Path, case: Case) -> None:
    pieces = pieces_of("books", case.data, 2**14, QUERIES)
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "1") as service:
        service.create("stays", queries=QUERIES)
        for each in pieces[: len(pieces) // 2]:
            assert service.put("stays", each).status == 201
        for number in range(TIMES):
            job = f"goes-{number}"
            service.create(job, queries=QUERIES)
            for each in pieces:
                assert service.put(job, each).status == 201
            (folder,) = (service.folder / "jobs").glob(f"*.{job}")
            assert files_below(folder / "logs")
            workers = service.children("cauce worker")
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
            took = until(f"the end of {job}", lambda job=job: service.ask("DELETE", f"/v1/jobs/{job}").status == 200)
            took += until("the release of its files", lambda folder=folder: not folder.exists())
            took += until("an empty trash", lambda: not files_below(service.folder / "trash"))
            sys.stdout.write(f"cancelled and released in {took:.3f} s\n")
            assert service.state(job) == "cancelled"
            until(
                "other workers", lambda workers=workers: len(set(service.children("cauce worker")) - set(workers)) == 2
            )
        service.upload("stays", pieces)
        service.wait_done("stays")
        for query in QUERIES:
            assert service.get(f"/v1/jobs/stays/results/{query}").body == case.wanted[query]
        assert [path.name for path in (service.folder / "jobs").iterdir() if "goes" in path.name] == []
