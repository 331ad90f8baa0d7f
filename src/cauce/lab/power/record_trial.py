"""Uses a files fabric on a disk that loses its power, and compares what is left with what was confirmed."""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cauce.errors import CorruptRecord, FabricLost
from cauce.fabric.contract import START, Durability
from cauce.fabric.files.fabric import FilesFabric
from cauce.lab.power.record_writer import LOGS, QUEUE, Confirmed, WriterSettings, made
from cauce.lab.power.volatile_disk import Machine, VolatileDisk
from cauce.lab.power.volatile_tree import CutReport, Survivors
from cauce.process.starting import module_command

_READ_BYTES = 1 << 20
_LOOK_S = 0.002
_FREEZE_S = 60.0
_CHANGES = (1, 600)

Step = tuple[str, ...]


@dataclass
class RecordTrial:
    """The seed decides when the power fails and what survives. `lost` are confirmed steps that are not on the disk."""

    disk: VolatileDisk
    seed: int
    survivors: Survivors = "ordered"
    durability: Durability = "power"
    processes: int = 3
    confirmed: set[Step] = field(default_factory=set)
    lost: set[Step] = field(default_factory=set)
    reports: list[CutReport] = field(default_factory=list)

    @property
    def _folder(self) -> Path:
        return self.disk.folder / "fabric"

    def play(self, cuts: int) -> None:
        """Raises CorruptRecord if a record is not as it was written."""
        rng = random.Random(self.seed)
        for _ in range(cuts):
            self.confirmed |= self._work_until_cut(rng)
            self.lost |= self.confirmed - self._on_disk()

    def _work_until_cut(self, rng: random.Random) -> set[Step]:
        settings = WriterSettings(
            str(self._folder), self.durability, self.processes, len(self.reports), rng.getrandbits(32)
        )
        self.disk.freeze_after(rng.randint(*_CHANGES))
        with tempfile.TemporaryFile("a+b") as output:
            command = module_command("cauce.lab.power.record_writer", msgspec.json.encode(settings).decode())
            machine = Machine(command, stdout=output, stderr=subprocess.DEVNULL)
            try:
                self._wait_frozen(machine)
                self.reports.append(machine.cut_power(self.disk, rng.getrandbits(32), self.survivors))
            finally:
                machine.stop()
            output.seek(0)
            steps = [msgspec.json.decode(line, type=Confirmed) for line in output if line.endswith(b"\n")]
        return {found for step in steps for found in _steps(step)}

    def _wait_frozen(self, machine: Machine) -> None:
        deadline = time.monotonic() + _FREEZE_S
        while not self.disk.status().frozen:
            if machine.poll() is not None or time.monotonic() > deadline:
                raise FabricLost("the processes that write records ended, or did nothing, before the power was cut")
            time.sleep(_LOOK_S)

    def _on_disk(self) -> set[Step]:
        fabric = FilesFabric(self._folder, durability=self.durability)
        try:
            jobs = fabric.jobs()
            found = {("job", job) for job in jobs} | _records(fabric, jobs)
        finally:
            fabric.close()
        return found | self._tasks(jobs)

    def _tasks(self, jobs: Sequence[str]) -> set[Step]:
        """From the files of leases: the fabric does not list tasks."""
        found: set[Step] = set()
        for job in jobs:
            for path in (self._folder / "jobs" / job / "leases" / QUEUE).glob("*"):
                task = path.name.partition("-")[2]
                found.add(("task", job, task))
                if path.read_bytes().endswith(b"D"):
                    found.add(("completed", job, task))
        return found


def _steps(step: Confirmed) -> list[Step]:
    if step.task:
        return [("completed" if step.completed else "task", step.job, step.task)]
    if step.records:
        return [("record", step.job, str(step.log), str(step.producer), str(seq)) for seq in step.records]
    return [("job", step.job)]


def _records(fabric: FilesFabric, jobs: Sequence[str]) -> set[Step]:
    found: set[Step] = set()
    for job in jobs:
        for number, log in enumerate(LOGS):
            position = START
            while (batch := fabric.read(job, log, position, _READ_BYTES)).records:
                position = batch.position
                for each in batch.records:
                    if each != made(each.producer, each.seq):
                        raise CorruptRecord(f"record {each.seq} of producer {each.producer} was never written")
                    found.add(("record", job, str(number), str(each.producer), str(each.seq)))
    return found
