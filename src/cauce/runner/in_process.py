"""Runs a plan in this process only, with the code of the workers, on a fabric in memory or in a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import JobFailed
from cauce.fabric.contract import Fabric
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.memory import MemoryFabric, Store
from cauce.job.manifest import Manifest, MemoryShares
from cauce.job.topology import Topology
from cauce.plan.physical import Plan
from cauce.process.memory_limit import MemoryBudget
from cauce.runner.local_client import Collect, Reorder, Sink, Upload, Watch, create
from cauce.scan.parts import PART_BYTES, TableFile
from cauce.worker.job_table import Host
from cauce.worker.loop import Worker
from cauce.worker.memory.spill import FileSpill, spill_folder
from cauce.worker.tasks.limits import Limits

LITTLE_BYTES = 32 << 20
"""Below this, starting processes takes longer than reading the data."""

JOB = "local"


@dataclass(frozen=True)
class Settings:
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    part_bytes: int = PART_BYTES
    work: Path | None = None
    """A directory for the logs; None keeps them in memory."""
    memory: MemoryBudget | None = None
    """None: no limit."""


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
        memory = settings.memory
        shares = MemoryShares.of(memory)
        queries = tuple(plan.results)
        manifest = Manifest(
            JOB, plan.dataset, queries, {}, plan.partitions, settings.threads, plan.digest, memory=shares
        )
        fabric, workers_fabric = _fabrics(settings.work)
        create(fabric, manifest, topology)
        self._upload = Upload(fabric, JOB, topology, files, settings.part_bytes, reorder, watch)
        self._collect = Collect(fabric, JOB, topology, sink, watch)
        limits = Limits(collected_bytes=0 if memory is None else memory.collected_bytes)
        host = Host(spill=lambda job, spec: FileSpill(_scratch(workers_fabric), spec.name))
        self._worker = Worker(workers_fabric, limits, {JOB: plan}, host=host)

    def run(self) -> None:
        uploading = True
        while not self._collect.complete:
            uploading = uploading and self._upload.step()
            worked = self._worker.step()
            if not self._collect.step() and not worked and not uploading and not self._collect.complete:
                raise JobFailed(f"the run makes no progress: {self._collect.missing_input()}")


def _scratch(fabric: Fabric) -> Path:
    return spill_folder(fabric.scratch(JOB), f"{JOB}-{os.getpid()}")


def _fabrics(work: Path | None) -> tuple[Fabric, Fabric]:
    """Two fabrics on the same logs, for the client and for the worker."""
    if work is not None:
        return FilesFabric(work), FilesFabric(work)
    store = Store()
    return MemoryFabric(store), MemoryFabric(store)
