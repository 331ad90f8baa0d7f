"""Writes the golden logs: `python -m tests.golden.make`. Run it once for a version whose stored structures changed,
with a new number, and keep the archives of earlier versions.

The archive holds the files of a small coffee dataset, and a folder of the files fabric with two jobs on them: one that
is done, and one whose worker stopped half way.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from tests.e2e.hostile_rows import write_hostile_rows
from tests.gateway.serving import cut, files_world, run_to_end, send

ARCHIVE = Path(__file__).with_name("logs-2.tar.xz")
"""With manifests of version 4; those of `logs-1` have version 2."""
ARCHIVES = sorted(ARCHIVE.parent.glob("logs-*.tar.xz"))
DATASET = "coffee"
FINISHED, OPEN = "finished", "open"
PART_BYTES = 4_000


def write_jobs(folder: Path) -> None:
    write_hostile_rows(DATASET, folder / "data", 7, 60)
    sent = cut(DATASET, folder / "data", PART_BYTES)
    world = files_world(folder / "root")
    jobs = world.gateway()
    send(jobs, sent, FINISHED)
    assert run_to_end(jobs, world.worker(), FINISHED).state == "done"
    send(jobs, sent, OPEN)
    worker = world.worker()
    while sum(table.parts_read for table in jobs.status("local", OPEN).tables.values()) < len(sent.each()) // 2:
        worker.step()
    assert jobs.status("local", OPEN).state == "running"
    world.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_jobs(folder)
        shutil.rmtree(folder / "root" / "trash")
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for name in ("data", "root"):
                archive.add(folder / name, name)


if __name__ == "__main__":
    main()
