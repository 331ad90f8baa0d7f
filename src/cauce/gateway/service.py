"""The resources of one gateway thread: its own fabric connection, job service and event log."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cauce.api.jobs import JobRequest, JobStatus
from cauce.datasets.registry import Registry
from cauce.doctor.supervision.events import EventLog
from cauce.errors import FabricError
from cauce.fabric.contract import Durability, Fabric
from cauce.fabric.factory import open_fabric
from cauce.gateway.errors import NoRoom
from cauce.gateway.jobs.job_context import SharedState
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.jobs.read_model import EndFound, JobListener
from cauce.gateway.kept.dataset_jobs import KeptJobs
from cauce.gateway.kept.dataset_service import KeptDatasets
from cauce.gateway.limits import ServiceLimits


@dataclass(frozen=True)
class Service:
    root: Path | None
    """The folder of the fabric; None if the fabric is not on this machine."""
    fabric: Fabric
    jobs: Jobs
    kept: KeptDatasets
    kept_jobs: KeptJobs
    events: EventLog

    def check(self, free_bytes: int) -> None:
        """Raises unless the fabric is usable and its disk has at least `free_bytes` free."""
        self.fabric.jobs()
        if self.root is None:
            return
        if not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise FabricError(f"cannot write to {self.root}: give this user read, write and execute permission")
        disk = os.statvfs(self.root)
        left = disk.f_bavail * disk.f_frsize
        if left < free_bytes:
            raise NoRoom(
                f"disk almost full: {left:,} bytes left on the service's disk, at least {free_bytes:,} needed; cancel "
                "jobs that are no longer needed, or free some space",
                retry_after=10,
            )

    def create(self, owner: str, job: str, request: JobRequest) -> tuple[JobStatus, bool]:
        """Creates a job, over data that its client uploads or over a kept dataset."""
        if request.on:
            return self.kept_jobs.named(owner, job, request)
        return self.jobs.create(owner, job, request)

    def sweep(self) -> None:
        self.jobs.sweep()
        self.kept.sweep()

    def close(self) -> None:
        self.fabric.close()


def service_maker(
    root: Path | None,
    address: str,
    durability: Durability,
    limits: ServiceLimits,
    datasets: Registry,
    notify: JobListener,
    end_found: EndFound,
) -> Callable[[], Service]:
    shared = SharedState()

    def make() -> Service:
        fabric = open_fabric(address, durability)
        jobs = Jobs(fabric, limits, datasets=datasets, notify=notify, end_found=end_found, shared=shared)
        kept = KeptDatasets(fabric, limits, jobs, datasets, shared.idleness)
        return Service(root, fabric, jobs, kept, KeptJobs(limits, jobs, kept, datasets), EventLog(fabric))

    return make
