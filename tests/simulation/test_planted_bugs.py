"""The simulation can fail: each of these bugs, planted on purpose, is caught within a bounded number of schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, product

import polars as pl
import pytest

from cauce.chaos.simulate import PIECES, QUERIES, WORLDS, expected, simulate
from cauce.errors import FabricFull
from cauce.fabric.memory import MemoryFabric
from cauce.operators import aggregate, partition
from cauce.plan import evaluate
from cauce.wire.records import Kind, Record
from cauce.worker import client, tasks
from cauce.worker.intake import DumpedNames, Intake, Names
from cauce.worker.journal import Journal, Past
from cauce.worker.tasks import SourceTask, Step, Task

MOST_SCHEDULES = 400
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module", autouse=True)
def _right_answers() -> None:
    """What the runs are compared with is computed before anything is broken."""
    for (dataset, query), seed, pieces in product(QUERIES, range(WORLDS), PIECES):
        expected(dataset, (query,), seed, pieces)


def caught() -> bool:
    """Whether some schedule ends with another answer, an alarm, a failure or a hang."""
    return any(simulate(seed).problem for seed in range(MOST_SCHEDULES))


def acknowledged_before_confirmed(patch: Patch) -> None:
    """The upload goes on as if a part had been said although the fabric had no room for it."""
    append = MemoryFabric.append

    def careless(self: MemoryFabric, job: str, log: str, records: Sequence[Record]) -> None:
        try:
            append(self, job, log, records)
        except FabricFull:
            if not log.startswith("raw"):
                raise

    patch.setattr(MemoryFabric, "append", careless)


def position_moved_before_output(patch: Patch) -> None:
    """A part is noted as done before what came of it is in the logs."""
    began = Journal.began

    def too_early(self: Journal, seq: int) -> None:
        began(self, seq)
        if self._log.startswith("journal"):
            Journal.done(self, seq, {}, None)

    patch.setattr(Journal, "began", too_early)


def duplicate_not_dropped(patch: Patch) -> None:
    is_new = Names.is_new
    patch.setattr(Names, "is_new", lambda self, each: is_new(self, each) or True)


def completion_by_last_message(patch: Patch) -> None:
    """An edge is taken to be complete as soon as every producer has said its end."""
    patch.setattr(Names, "complete", property(lambda self: all(each in self._ends for each in self._digests)))


def order_dependent_sum(patch: Patch) -> None:
    """Partial sums are added up as floats, in the order in which they came."""
    merge = evaluate.merge

    def in_floats(frame: pl.DataFrame, keys: Sequence[str], aggregates: aggregate.Aggregates) -> pl.DataFrame:
        merged = merge(frame, keys, aggregates)
        sums = [name for name, each in aggregates.items() if isinstance(each, aggregate.Sum)]
        if not sums or not keys:
            return merged
        floats = frame.with_columns(pl.col(sums).cast(pl.Float64) / 3).group_by(keys, maintain_order=True)
        added = floats.agg(pl.col(name).map_batches(lambda s: s.cum_sum().tail(1)).first() for name in sums)
        back = added.with_columns((pl.col(name) * 3).cast(frame.schema[name]) for name in sums)
        return merged.drop(sums).join(back, on=list(keys), maintain_order="left").select(merged.columns)

    patch.setattr(evaluate, "merge", in_floats)


def unstable_hash(patch: Patch) -> None:
    """Rows go to a partition that depends on when they are sent."""
    numbers = partition.partition_numbers
    calls = count()

    def salted(frame: pl.DataFrame, keys: Sequence[str], partitions: int) -> pl.Series:
        return (numbers(frame, keys, partitions) + next(calls)) % partitions

    patch.setattr(partition, "partition_numbers", salted)


def snapshot_without_names(patch: Patch) -> None:
    patch.setattr(Names, "dump", lambda self: DumpedNames({each: {} for each in self._digests}, self._ends))


def snapshot_without_state(patch: Patch) -> None:
    """A restored task remembers what it has read, and forgets what it made of it."""
    restore = Intake.restore

    def forgetful(self: Intake, data: bytes) -> None:
        restore(self, data)
        self._rows = {name: frame.clear() for name, frame in self._rows.items()}
        self._state = [frame.clear() for frame in self._state]

    patch.setattr(Intake, "restore", forgetful)


def lease_released_early(patch: Patch) -> None:
    """A task is finished for good before its last words are in the logs."""
    make_task = tasks.make_task

    def eager(context: tasks.JobContext, spec: tasks.TaskSpec) -> Task:
        task = make_task(context, spec)
        state = context.fabric._store.jobs[context.job]  # type: ignore[attr-defined]
        end = "_end" if isinstance(task, SourceTask) else "work"
        original: Callable[[Past], Step] = getattr(task, end)

        def finish_first(past: Past) -> Step:
            state.finished.update(key for key in state.attempts if key[1] == spec.name)
            return original(past)

        setattr(task, end, finish_first)
        return task

    patch.setattr("cauce.worker.loop.make_task", eager)


def torn_tail_read(patch: Patch) -> None:
    """A record cut off by a crash is taken for one without content."""
    append = MemoryFabric.append

    def torn(self: MemoryFabric, job: str, log: str, records: Sequence[Record]) -> None:
        try:
            append(self, job, log, records)
        except BaseException:
            held = self._store.jobs.get(job)
            if held is not None and log.startswith("edge") and records[0].kind == Kind.DATA:
                half = replace(records[0], body=b"", digest=0)
                held.logs.setdefault(log, {}).setdefault(self._writer, []).append(half)
            raise

    patch.setattr(MemoryFabric, "append", torn)


def empty_record_skipped(patch: Patch) -> None:
    send = Task.send

    def thrifty(self: Task, edge: tasks.Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        if not frame.is_empty():
            send(self, edge, partition, seq, frame)

    patch.setattr(Task, "send", thrifty)


def named_by_order_of_work(patch: Patch) -> None:
    """Messages are numbered as they are sent, so that a successor gives the same number to another content."""
    send = Task.send

    def counting(self: Task, edge: tasks.Edge, partition: int, seq: int, frame: pl.DataFrame) -> None:
        numbers = self.__dict__.setdefault("numbers", {})
        number = numbers.setdefault((edge.number, partition), count())
        send(self, edge, partition, next(number), frame)

    patch.setattr(Task, "send", counting)


def end_counts_own_work_only(patch: Patch) -> None:
    """The end of a lane counts what this holder has done, not what its predecessors did."""
    end = SourceTask._end

    def own(self: SourceTask, past: Past) -> Step:
        mine = {seq for seq in past.done if past.begun.get(seq, 0) == 0}
        return end(self, replace(past, done=mine))

    patch.setattr(SourceTask, "_end", own)


def end_of_input_forgotten(patch: Patch) -> None:
    """A successor starts behind the end of its input without knowing that it was there."""
    done = Journal.done
    patch.setattr(Journal, "done", lambda self, seq, position, count: done(self, seq, position, None))


def pages_by_arrival(patch: Patch) -> None:
    patch.setattr(client.InOrder, "take", lambda self, seq, thing: [thing])


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
def test_a_planted_bug_is_caught(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    assert simulate(len(QUERIES)).problem == ""
    plant(monkeypatch)
    assert caught()
