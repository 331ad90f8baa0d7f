"""Proof that the simulation can fail: each of these planted bugs is detected within a bounded number of schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, product

import polars as pl
import pytest

from cauce.errors import FabricFull
from cauce.fabric.contract import START
from cauce.fabric.memory import MemoryFabric
from cauce.fabric.names import Log, job_name
from cauce.fabric.records import Kind, Record
from cauce.gateway.jobs.read_model import Views
from cauce.gateway.jobs.tombstones import Tombstone, TombstoneStore
from cauce.gateway.jobs.uploads import PartStore, PartTarget
from cauce.job.completion import DumpedNames, Names
from cauce.job.crashes import Scene
from cauce.job.receipts import Receipt
from cauce.job.topology import TaskSpec
from cauce.lab.chaos.simulate import WORLDS, expected, simulate
from cauce.lab.chaos.simulate_service import simulate_rivals, simulate_service
from cauce.lab.chaos.simulated_jobs import JOBS
from cauce.operators import aggregates as kinds
from cauce.operators import partition
from cauce.plan.nodes import group_by
from cauce.plan.physical import Edge
from cauce.runner import local_client as client
from cauce.scan.parts import Part
from cauce.worker.edge_input import Intake
from cauce.worker.journal import Journal, JournalState
from cauce.worker.tasks import factory
from cauce.worker.tasks.fold_task import FOLD_SEQ
from cauce.worker.tasks.job_context import JobContext
from cauce.worker.tasks.source_task import SourceTask
from cauce.worker.tasks.task import SIDES_SEQ, Step, Task

MOST_SCHEDULES = 400
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module", autouse=True)
def _right_answers() -> None:
    """Computes the expected answers before any bug is planted."""
    for (dataset, queries), seed in product(JOBS, range(WORLDS)):
        expected(dataset, queries, seed)


def caught() -> bool:
    """Whether some schedule ends with a wrong answer, an alarm, a failure or a hang."""
    return any(simulate(seed).problem for seed in range(MOST_SCHEDULES))


def acknowledged_before_confirmed(patch: Patch) -> None:
    """The upload continues as if a part had been appended although the fabric was full."""
    append = MemoryFabric.append

    def careless(self: MemoryFabric, job: str, log: Log, records: Sequence[Record]) -> None:
        try:
            append(self, job, log, records)
        except FabricFull:
            if not log.group.startswith("raw"):
                raise

    patch.setattr(MemoryFabric, "append", careless)


def position_moved_before_output(patch: Patch) -> None:
    """A part is recorded as complete before its output is in the logs."""
    began = Journal.began

    def too_early(self: Journal, seq: int, what: str = "", scene: Scene | None = None) -> None:
        began(self, seq, what, scene)
        if seq not in (FOLD_SEQ, SIDES_SEQ):
            self.done(seq, START, None)

    patch.setattr(Journal, "began", too_early)


def duplicate_not_dropped(patch: Patch) -> None:
    is_new = Names.is_new
    patch.setattr(Names, "is_new", lambda self, each: is_new(self, each) or True)


def completion_by_last_message(patch: Patch) -> None:
    """An edge counts as complete as soon as every producer has appended its END."""
    patch.setattr(Names, "complete", property(lambda self: all(each in self._ends for each in self._digests)))


def order_dependent_sum(patch: Patch) -> None:
    """Partial sums are added as floats, in the order of their arrival."""
    merge = group_by.merge

    def in_floats(
        frame: pl.DataFrame, keys: Sequence[str], aggregates: kinds.Aggregates, *, in_order: bool = False
    ) -> pl.DataFrame:
        merged = merge(frame, keys, aggregates, in_order=in_order)
        sums = [name for name, each in aggregates.items() if type(each) is kinds.Sum]
        if not sums or not keys:
            return merged
        floats = frame.with_columns(pl.col(sums).cast(pl.Float64) / 3).group_by(keys, maintain_order=True)
        added = floats.agg(pl.col(name).map_batches(lambda s: s.cum_sum().tail(1)).first() for name in sums)
        back = added.with_columns((pl.col(name) * 3).cast(frame.schema[name]) for name in sums)
        return merged.drop(sums).join(back, on=list(keys), maintain_order="left").select(merged.columns)

    patch.setattr(group_by, "merge", in_floats)


def unstable_hash(patch: Patch) -> None:
    """The partition of a row depends on when it is sent."""
    hashes = partition.key_hashes
    calls = count()

    def salted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
        return hashes(frame, keys) // 2 + next(calls)

    patch.setattr(partition, "key_hashes", salted)


def snapshot_without_names(patch: Patch) -> None:
    patch.setattr(Names, "dump", lambda self: DumpedNames({each: {} for each in self._digests}, self._ends))


def snapshot_without_state(patch: Patch) -> None:
    """A snapshot holds the identities that were read, but not the state."""
    restore = Intake.restore

    def forgetful(self: Intake, data: bytes) -> None:
        restore(self, data)
        self._rows = {name: frame.clear() for name, frame in self._rows.items()}
        self._state = [frame.clear() for frame in self._state]

    patch.setattr(Intake, "restore", forgetful)


def lease_released_early(patch: Patch) -> None:
    """A task is completed before its last records are in the logs."""
    make_task = factory.make_task

    def eager(context: JobContext, spec: TaskSpec) -> Task:
        task = make_task(context, spec)
        state = context.fabric._store.jobs[context.job]  # type: ignore[attr-defined]
        end = "_end" if isinstance(task, SourceTask) else "work"
        original: Callable[[JournalState], Step] = getattr(task, end)

        def finish_first(past: JournalState) -> Step:
            state.finished.update(key for key in state.holders if key[1] == spec.name)
            return original(past)

        setattr(task, end, finish_first)
        return task

    patch.setattr("cauce.worker.leases.make_task", eager)


def torn_tail_read(patch: Patch) -> None:
    """A record truncated by a crash is taken for an empty one."""
    append = MemoryFabric.append

    def torn(self: MemoryFabric, job: str, log: Log, records: Sequence[Record]) -> None:
        try:
            append(self, job, log, records)
        except BaseException:
            held = self._store.jobs.get(job)
            if held is not None and log.group.startswith("edge") and records[0].kind == Kind.DATA:
                half = replace(records[0], body=b"", digest=0)
                held.logs.setdefault(log, {}).setdefault(self._writer, []).append(half)
            raise

    patch.setattr(MemoryFabric, "append", torn)


def empty_record_skipped(patch: Patch) -> None:
    send = Task.send

    def thrifty(self: Task, edge: Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        if not frame.is_empty():
            send(self, edge, partition, seq, frame)

    patch.setattr(Task, "send", thrifty)


def named_by_order_of_work(patch: Patch) -> None:
    """Records are numbered in the order of work, so that the next holder gives the same number to other content."""
    send = Task.send

    def counting(self: Task, edge: Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        numbers = self.__dict__.setdefault("numbers", {})
        number = numbers.setdefault((edge.number, partition), count())
        send(self, edge, partition, next(number), frame)

    patch.setattr(Task, "send", counting)


def end_counts_own_work_only(patch: Patch) -> None:
    """The END of a lane counts only the records of its last holder."""
    end = SourceTask._end

    def own(self: SourceTask, past: JournalState) -> Step:
        mine = {seq for seq in past.done if past.starts.get(seq, 0) == 0}
        return end(self, replace(past, done=mine))

    patch.setattr(SourceTask, "_end", own)


def end_of_input_forgotten(patch: Patch) -> None:
    """The next holder starts after the END of its input without knowing that it was read."""
    done = Journal.done
    patch.setattr(Journal, "done", lambda self, seq, position, count: done(self, seq, position, None))


def pages_by_arrival(patch: Patch) -> None:
    patch.setattr(client.InOrder, "take", lambda self, seq, thing: [thing])


def job_absent_without_a_read_barrier(patch: Patch) -> None:
    """A gateway answers that a job does not exist as soon as it does not see it."""
    patch.setattr(Views, "manifest", lambda self, name, *, consistent=False: self._fabric.manifest(name))


def job_deleted_without_a_read_barrier(patch: Patch) -> None:
    """A gateway shows a job until it happens to see that another one has deleted it."""
    manifest = Views.manifest
    patch.setattr(Views, "manifest", lambda self, name, *, consistent=False: manifest(self, name))


def status_without_a_read_barrier(patch: Patch) -> None:
    """A gateway shows the parts, rows and pages that it happens to see."""
    refresh = Views.refresh
    patch.setattr(Views, "refresh", lambda self, view, *, consistent=False: refresh(self, view))


def receipts_without_a_read_barrier(patch: Patch) -> None:
    """A gateway lists the parts it happens to see, and completes a table by them."""
    read_barrier = MemoryFabric.read_barrier

    def partial(self: MemoryFabric, job: str | None = None, *logs: Log) -> None:
        read_barrier(self, job, *(log for log in logs if "receipts" not in log.name))

    patch.setattr(MemoryFabric, "read_barrier", partial)


def part_acknowledged_before_its_receipt(patch: Patch) -> None:
    """The receipt of a part is only remembered by the gateway that has stored the part."""

    def forgetful(self: PartStore, target: PartTarget, part: Part, receipt: Receipt) -> None:
        target.receipts.held[part.seq] = receipt

    patch.setattr(PartStore, "_store", forgetful)


def tombstone_after_deletion(patch: Patch) -> None:
    """The data of a cancelled job is deleted before its end is recorded."""
    add = TombstoneStore.add

    def late(self: TombstoneStore, tombstone: Tombstone) -> None:
        self._fabric.delete_job(job_name(tombstone.owner, tombstone.job))
        add(self, tombstone)

    patch.setattr(TombstoneStore, "add", late)


def part_stored_without_a_claim(patch: Patch) -> None:
    """A gateway appends a part without announcing it: another one may append another content at the same time."""
    patch.setattr(PartStore, "_claim", lambda self, target, seq, digest, rules: None)


@pytest.mark.slow
def test_a_missing_claim_is_caught(monkeypatch: Patch) -> None:
    part_stored_without_a_claim(monkeypatch)
    assert any(simulate_rivals(seed).problem for seed in range(MOST_SCHEDULES))


SERVICE_BUGS = [
    job_absent_without_a_read_barrier,
    job_deleted_without_a_read_barrier,
    status_without_a_read_barrier,
    receipts_without_a_read_barrier,
    part_acknowledged_before_its_receipt,
    tombstone_after_deletion,
]

BUGS = [
    acknowledged_before_confirmed,
    position_moved_before_output,
    duplicate_not_dropped,
    completion_by_last_message,
    order_dependent_sum,
    unstable_hash,
    snapshot_without_names,
    snapshot_without_state,
    lease_released_early,
    torn_tail_read,
    empty_record_skipped,
    named_by_order_of_work,
    end_counts_own_work_only,
    end_of_input_forgotten,
    pages_by_arrival,
]


@pytest.mark.slow
@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_planted_bug_is_detected(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    assert simulate(len(JOBS)).problem == ""
    plant(monkeypatch)
    assert caught()


@pytest.mark.slow
@pytest.mark.parametrize("plant", SERVICE_BUGS, ids=lambda plant: plant.__name__)
def test_a_bug_planted_in_the_gateway_is_caught(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    assert simulate_service(len(JOBS)).problem == ""
    plant(monkeypatch)
    assert any(simulate_service(seed).problem for seed in range(MOST_SCHEDULES))
