"""State that the tasks of one job share in a worker process. It can be rebuilt from the logs at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from cauce.fabric.contract import Fabric
from cauce.fabric.records import Record
from cauce.job.job_log import JobLog
from cauce.job.log_reader import LogReader
from cauce.job.topology import TaskSpec, Topology
from cauce.operators.expansion import SLICE_CELLS
from cauce.plan.evaluate import Received
from cauce.plan.physical import Edge
from cauce.worker.edge_input import Intake
from cauce.worker.memory.account import MemoryAccount
from cauce.worker.memory.spill import MemorySpill, Spill
from cauce.worker.tasks.activity import Activity
from cauce.worker.tasks.limits import Limits
from cauce.worker.tasks.lost_records import LossCheck

_CELL_BYTES = 32

Buffer = Callable[[int], npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Budget:
    """The memory of a job in a worker. A fold whose input weighs more than `fold_bytes` (0: no limit) is split; one
    that cannot be split fails if it weighs more than `whole_bytes`. The broadcast inputs of a stage are joined in
    blocks if they weigh more than `broadcast_bytes`, of which filters may have half. Temporary files are in a `spill`,
    which is made for a task."""

    fold_bytes: int = 0
    whole_bytes: int = 0
    broadcast_bytes: int = 0
    account: MemoryAccount = field(default_factory=MemoryAccount)
    spill: Callable[[TaskSpec], Spill] = lambda spec: MemorySpill()

    @property
    def slice_cells(self) -> int:
        """Cells of a slice of a large join: each takes some bytes in every column."""
        return min(SLICE_CELLS, max(self.fold_bytes // _CELL_BYTES, 1_000)) if self.fold_bytes else SLICE_CELLS


class JobContext:
    """State that the tasks of one job share in a process: the plan and the broadcast inputs."""

    def __init__(
        self,
        fabric: Fabric,
        job: str,
        topology: Topology,
        buffer: Buffer,
        limits: Limits,
        log: JobLog | None = None,
        activity: Activity | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.fabric = fabric
        self.budget = budget or Budget()
        self.activity = activity or Activity()
        self.limits = limits
        self.job = job
        self.log = log or JobLog(fabric, job, limits.lethal_attempts, limits.run_id)
        self.topology = topology
        self.buffer = buffer
        self.milestones = 0
        """How often tasks of the job have made durable progress in this process."""
        self.news = 0
        """How often tasks of the job have appended output, or read broadcast input, which all of them share, in this
        process: another one may have waited for that."""
        self._shared: dict[int, Intake] = {}
        self._received: dict[tuple[int, ...], Received] = {}
        self._loss_checks: WeakKeyDictionary[Intake, LossCheck] = WeakKeyDictionary()

    def intake(self, edge: Edge, partition: int) -> Intake:
        """The input of a partition from an edge. A broadcast edge has one object for all tasks."""
        if edge.spread != "broadcast":
            return self._new_intake(edge, partition)
        if edge.number not in self._shared:
            self._shared[edge.number] = self._new_intake(edge, 0)
        return self._shared[edge.number]

    def _new_intake(self, edge: Edge, partition: int) -> Intake:
        log = self.topology.edge_log(edge, partition)
        reader = LogReader(log, self.limits.read_bytes)
        where = f"job {self.job}, {log}"
        return Intake(edge, where, self.topology.producers(edge), reader, self.budget.fold_bytes)

    def received(self, intakes: dict[int, Intake]) -> Received:
        """The complete inputs with their join tables; built once per process if all of them are broadcast."""
        optional = self.topology.plan.optional_edges
        needed = {number: each for number, each in intakes.items() if not (each.parked and number in optional)}
        frames = {number: intake.frame() for number, intake in needed.items()}
        if any(intake.edge.spread != "broadcast" for intake in intakes.values()):
            return Received(frames, slice_cells=self.budget.slice_cells)
        received = Received(frames, slice_cells=self.budget.slice_cells)
        return self._received.setdefault(tuple(sorted(intakes)), received)

    def advance(self, intake: Intake, before: Callable[[int], None] = lambda size: None) -> bool:
        """Reads the next batch; false if there was nothing to read. Calls `before` with the size of the batch before it
        is processed. Raises CorruptRecord if the fabric has lost records of the input."""

        def process(records: Sequence[Record]) -> None:
            if records:
                before(sum(len(each.body) for each in records))
            intake.add(records)
            if intake.edge.number in self.topology.plan.optional_edges:
                self._drop_if_too_large(intake)
            if intake.edge.spread == "broadcast":
                self.budget.account.set_broadcast(intake, intake.held_bytes)

        moved = intake.reader.read(self.fabric, self.job, process)
        if moved and intake.edge.spread == "broadcast":
            self.news += 1
        return moved or self._reads_again(intake)

    def _reads_again(self, intake: Intake) -> bool:
        if intake.complete:
            return False
        check = self._loss_checks.setdefault(intake, LossCheck())
        return check.reads_again(self.fabric, self.job, intake.names, intake.reader)

    def _drop_if_too_large(self, intake: Intake) -> None:
        """Drops the keys of a filter if they exceed its share of the memory for broadcast inputs. All workers must
        agree, so only the weight of all its rows counts."""
        if intake.complete:
            intake.condense()
        if self.budget.broadcast_bytes and intake.weight > self.filter_bytes:
            intake.park()

    @property
    def filter_bytes(self) -> int:
        """The most that the keys of a filter may weigh: all of them have half of the memory for broadcast inputs."""
        return self.budget.broadcast_bytes // 2 // max(len(self.topology.plan.optional_edges), 1)

    def release(self) -> None:
        """Frees the inputs of its tasks: the job has ended."""
        self._shared.clear()
        self._received.clear()
