"""Damages files of a paused run: finds complete records, flips a bit, truncates a segment."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cauce.datasets import load
from cauce.fabric.files.frames import HEADER_BYTES, frame_bytes
from cauce.fabric.names import Log
from cauce.job.manifest import load_manifest
from cauce.job.topology import TaskSpec, Topology
from cauce.lab.chaos.processes import Seen, pause, resume
from cauce.process.table import shown
from tests.chaos.running import Run, job_folder, until


@dataclass(frozen=True)
class Frame:
    path: Path
    start: int
    end: int


def frames(path: Path) -> list[Frame]:
    """The complete frames of a segment."""
    data = path.read_bytes()
    found = []
    at = 0
    while at + HEADER_BYTES <= len(data):
        length = frame_bytes(memoryview(data)[at : at + HEADER_BYTES], str(path))
        if length == 0 or at + length > len(data):
            break
        found.append(Frame(path, at, at + length))
        at += length
    return found


def frames_of(folder: Path) -> list[Frame]:
    return [frame for segment in sorted(folder.iterdir()) for frame in frames(segment)]


def flip(frame: Frame, rng: random.Random) -> None:
    """Flips one bit of a complete frame; raises if the file has not changed."""
    before = frame.path.read_bytes()
    at = rng.randrange(frame.start, frame.end)
    with frame.path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([before[at] ^ (1 << rng.randrange(8))]))
    assert frame.path.read_bytes() != before


def cut(path: Path, size: int) -> None:
    assert path.stat().st_size > size
    os.truncate(path, size)


@contextmanager
def standing_still(run: Run) -> Iterator[list[Seen]]:
    """Pauses all workers within the block, and resumes those that still run after it."""
    workers = [each for each in run.everyone() if each.role == "worker"]
    assert any(each.leases for each in workers), "nobody was at work"
    for each in workers:
        assert pause(each.pid)
    until("a stop", lambda: all(_stopped(each.pid) for each in workers))
    try:
        yield workers
    finally:
        for each in workers:
            resume(each.pid)


def _stopped(pid: int) -> bool:
    return (seen := shown(pid)) is not None and seen.state == "T"


@dataclass(frozen=True)
class JobFiles:
    """The only job in a work directory: its incomplete tasks, and the directories of their logs."""

    folder: Path
    topology: Topology

    def log(self, log: Log) -> Path:
        return self.folder / "logs" / log.encode()

    def unfinished(self) -> list[TaskSpec]:
        leases = (path for path in self.folder.glob("leases/*/*") if not path.read_bytes().endswith(b"D"))
        return [self.topology.by_name[path.name.partition("-")[2]] for path in leases]

    def journals(self) -> list[Path]:
        """Journals of incomplete lanes: the next holder of the lease reads them."""
        found = [self.log(task.journal) for task in self.unfinished() if task.stage.table is not None]
        return [path for path in found if path.is_dir()]

    def inputs(self) -> list[Path]:
        """Input logs of incomplete partitions: the next holder of the lease reads them."""
        edges = self.topology.plan.edges
        found = [
            self.log(self.topology.edge_log(edges[number], task.index))
            for task in self.unfinished()
            for number in task.stage.receives
            if task.stage.table is None and edges[number].spread != "broadcast"
        ]
        return [path for path in found if path.is_dir()]


def files_of(work: Path) -> JobFiles:
    folder = job_folder(work)
    manifest = load_manifest((folder / "manifest.json").read_bytes())
    plan = load(manifest.dataset).plan(manifest.queries, manifest.parameters, manifest.partitions)
    return JobFiles(folder, Topology(plan, manifest.lanes))
