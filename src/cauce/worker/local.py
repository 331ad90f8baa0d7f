"""Runs a plan in this process alone, with the code that workers run, over a fabric in memory or in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import JobFailed
from cauce.fabric.contract import Fabric
from cauce.fabric.files import FilesFabric
from cauce.fabric.memory import MemoryFabric, Store
from cauce.plan.physical import Plan
from cauce.scan.parts import PART_BYTES, TableFile
from cauce.wire.manifest import Manifest
from cauce.worker.client import Collect, Reorder, Sink, Upload, Watch, create
from cauce.worker.loop import Worker
from cauce.worker.topology import Topology

JOB = "local"


@dataclass(frozen=True)
class Settings:
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    part_bytes: int = PART_BYTES
    work: Path | None = None
    """A folder for the logs; without one they are kept in memory."""


class LocalRun:
    """One run of a plan. `reorder` is for tests: it may shuffle or repeat the parts of a table."""

    def __init__(
        self,
        plan: Plan,
        files: Mapping[str, list[TableFile]],
        sink: Sink,
        watch: Watch,
        settings: Settings | None = None,
        reorder: Reorder = lambda parts: parts,
    ) -> None:
        settings = settings or Settings()
        topology = Topology(plan, settings.threads)
        manifest = Manifest(JOB, plan.dataset, tuple(plan.results), {}, plan.partitions, settings.threads, plan.digest)
        fabric, workers_fabric = _fabrics(settings.work)
        create(fabric, manifest, topology)
        self._upload = Upload(fabric, JOB, topology, files, settings.part_bytes, reorder, watch)
        self._collect = Collect(fabric, JOB, topology, sink, watch)
        self._worker = Worker(workers_fabric, plans={JOB: plan})

    def run(self) -> None:
        uploading = True
        while not self._collect.complete:
            uploading = uploading and self._upload.step()
            worked = self._worker.step()
            if not self._collect.step() and not worked and not uploading and not self._collect.complete:
                raise JobFailed(f"the run stands still: {self._collect.waits_for()}")


def _fabrics(work: Path | None) -> tuple[Fabric, Fabric]:
    """The same logs, opened for the client and for the worker."""
    if work is not None:
        return FilesFabric(work), FilesFabric(work)
    store = Store()
    return MemoryFabric(store), MemoryFabric(store)
