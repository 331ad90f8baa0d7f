"""Whole jobs under simulated faults: the real planner, worker, upload and recovery code on the memory fabric.

A seed decides everything: the data, its parts, the number of workers, the schedule, and all crashes, delays,
duplicates, torn writes and refused appends. The answers must be those of a run without faults, and the run must end.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import polars as pl

from cauce.errors import CauceError, FabricFull, FabricLost
from cauce.fabric.memory import Faults, MemoryFabric, NoFaults, Store
from cauce.fabric.records import Record
from cauce.job.manifest import Manifest, MemoryShares
from cauce.job.result_formats import csv_text
from cauce.job.topology import Topology
from cauce.lab.chaos.simulated_jobs import JOBS, simulated_dataset, sql_of
from cauce.lab.chaos.worlds import world
from cauce.plan.physical import Plan
from cauce.runner.local_client import Collect, Upload, create
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import parts_of
from cauce.scan.tables import TableSpec
from cauce.worker.loop import Worker
from cauce.worker.tasks.limits import Limits

JOB = "simulated"
WORLDS = 3
PIECES = (1, 2, 3, 5)
PARTITIONS = 2
MOST_TURNS = 20_000


class Crash(BaseException):
    """A simulated process crashes here. Not an Exception, so that no handler can catch it."""


@dataclass
class Chances:
    """The probability of each fault at each step, and the limit of all faults together."""

    crash: float = 0.02
    lost: float = 0.01
    torn: float = 0.02
    full: float = 0.003
    delay: float = 0.15
    repeat: float = 0.1
    pause: float = 0.01
    most: int = 40


class SimulatedFaults:
    """Faults for one process, drawn from the schedule's own random numbers."""

    def __init__(self, rng: random.Random, chances: Chances, log: list[str], who: str) -> None:
        self._rng = rng
        self._chances = chances
        self._log = log
        self._who = who
        self._tearing = False

    def _hit(self, chance: float, what: str) -> bool:
        if len(self._log) < self._chances.most and self._rng.random() < chance:
            self._log.append(f"{self._who}: {what}")
            return True
        return False

    def before(self, step: str, where: str) -> None:
        if self._hit(self._chances.crash, f"crashes before {step} {where}"):
            raise Crash
        if step == "append" and self._hit(self._chances.full, f"finds the disk full at {where}"):
            raise FabricFull(f"{where}: no space left")

    def after(self, step: str, where: str) -> None:
        if self._tearing or self._hit(self._chances.crash, f"crashes after {step} {where}"):
            raise Crash
        if step == "append" and self._hit(self._chances.lost, f"gets no confirmation for {where}"):
            raise FabricLost(f"{where}: no confirmation")

    def torn(self, where: str, count: int) -> int:
        if self._hit(self._chances.torn, f"crashes while writing to {where}"):
            self._tearing = True
            return self._rng.randrange(count)
        return count

    def reveal(self, where: str, count: int) -> int:
        return self._rng.randrange(count + 1) if count and self._rng.random() < self._chances.delay else count

    def mix(self, where: str, records: list[Record]) -> list[Record]:
        if not records or self._rng.random() >= self._chances.repeat:
            return records
        mixed = [*records, self._rng.choice(records)]
        self._rng.shuffle(mixed)
        return mixed


class Steps(Protocol):
    def step(self) -> bool: ...


@dataclass
class Process:
    """A simulated process: after each crash it is created again from the store alone."""

    name: str
    make: Callable[[MemoryFabric], Steps]
    fabric: MemoryFabric | None = None
    body: Steps | None = None


@dataclass(frozen=True)
class Case:
    """The queries of a job on a world, with its parts ready to be appended. Immutable."""

    dataset: str
    queries: tuple[str, ...]
    plan: Plan
    parts: dict[str, tuple[Part, ...]]


@dataclass
class ScheduleResult:
    """A schedule that was played, with its faults; `problem` is empty if it passed."""

    seed: int
    what: str
    faults: list[str] = field(default_factory=list)
    turns: int = 0
    problem: str = ""


@lru_cache(maxsize=512)
def case(dataset: str, queries: tuple[str, ...], world_seed: int, pieces: int) -> Case:
    """A case whose largest file is split into about `pieces` parts."""
    made = world(dataset, world_seed)
    part_bytes = max(map(len, made.files.values())) // pieces + 1
    declared, plan = simulated_dataset(dataset), _planned(dataset, queries)
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder))
        parts = {
            spec.name: tuple(
                _inline(part) for part in parts_of(declared.find_files(Path(folder), spec), spec, part_bytes)
            )
            for spec in plan.tables
        }
    return Case(dataset, queries, plan, parts)


@lru_cache(maxsize=64)
def _planned(dataset: str, queries: tuple[str, ...]) -> Plan:
    return simulated_dataset(dataset).plan(queries, None, PARTITIONS)


def _inline(part: Part) -> Part:
    data = Path(part.file.path).read_bytes()[part.start : part.end]
    file = TableFile(part.file.name, part.file.name, part.file.bytes)
    return Part(part.seq, file, part.header, part.first_line, part.start, part.end, data, part.weight)


class Answers:
    """All pages and rejects of a run, to be compared as CSV text."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.begin()

    def begin(self) -> None:
        self._pages: dict[str, list[pl.DataFrame]] = {query: [] for query in self._plan.results}
        self._rejects: list[pl.DataFrame] = []

    def page(self, query: str, frame: pl.DataFrame) -> None:
        self._pages[query].append(frame)

    def rejects(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        self._rejects.append(frame)

    def text(self) -> dict[str, str]:
        results = self._plan.results
        texts = {query: csv_text(pl.concat(pages), results[query].columns) for query, pages in self._pages.items()}
        return texts | {"rejects": csv_text(pl.concat(self._rejects).sort(pl.all()))}


class UploadParts:
    """Appends the parts of a case, in random order and with duplicates."""

    def __init__(
        self, fabric: MemoryFabric, chosen: Case, topology: Topology, rng: random.Random, fold_bytes: int = 0
    ) -> None:
        def mixed(parts: Iterator[Part]) -> list[Part]:
            listed = list(parts)
            rng.shuffle(listed)
            return listed + rng.sample(listed, min(len(listed), rng.randrange(2)))

        self._created = False
        self._fabric = fabric
        self._topology = topology
        self._upload = _CaseUpload(fabric, chosen, topology, mixed)
        self._manifest = manifest_of(chosen, topology, fold_bytes)

    def step(self) -> bool:
        if not self._created:
            create(self._fabric, self._manifest, self._topology)
            self._created = True
            return True
        return self._upload.step()


class _CaseUpload(Upload):
    def __init__(
        self,
        fabric: MemoryFabric,
        chosen: Case,
        topology: Topology,
        mixed: Callable[[Iterator[Part]], list[Part]],
    ) -> None:
        self._chosen = chosen
        super().__init__(fabric, JOB, topology, {}, 0, mixed)

    def parts(self, table: TableSpec) -> Iterator[Part]:
        return iter(self._chosen.parts[table.name])


_SCALARS_BYTES = 100
"""A broadcast input of one row, which a step needs at once, must fit into the memory."""


def manifest_of(chosen: Case, topology: Topology, fold_bytes: int = 0) -> Manifest:
    return Manifest(
        JOB,
        chosen.dataset,
        chosen.queries,
        {},
        chosen.plan.partitions,
        topology.lanes,
        chosen.plan.digest,
        2,
        sql=sql_of(chosen.dataset),
        memory=MemoryShares(fold_bytes, 1 << 30, max(fold_bytes, _SCALARS_BYTES)) if fold_bytes else MemoryShares(),
    )


@lru_cache(maxsize=512)
def expected(dataset: str, queries: tuple[str, ...], world_seed: int) -> dict[str, str]:
    """The answers of a run without faults, of one worker, one lane and whole files."""
    chosen = case(dataset, queries, world_seed, 1)
    quiet = Chances(most=0, delay=0, repeat=0)
    answers, problem, _ = _play(chosen, random.Random(0), quiet, [], workers=1, lanes=1)
    if problem:
        raise AssertionError(f"{dataset} {queries} fails without faults: {problem}")
    return answers


def simulate(seed: int, chances: Chances | None = None, fold_bytes: int = 0) -> ScheduleResult:
    """One schedule. The same seed gives the same run, to the last fault. With few `fold_bytes`, every fold
    splits, and broadcast inputs are joined in blocks."""
    rng = random.Random(seed)
    dataset, queries = JOBS[seed % len(JOBS)]
    world_seed = rng.randrange(WORLDS)
    pieces = rng.choice(PIECES)
    workers, lanes = rng.randrange(1, 4), rng.randrange(1, 4)
    outcome = ScheduleResult(seed, f"{named(dataset, queries)}, {workers} workers, {lanes} lanes, {pieces} parts")
    wanted = expected(dataset, queries, world_seed)
    chosen = case(dataset, queries, world_seed, pieces)
    answers, outcome.problem, outcome.turns = _play(
        chosen, rng, chances or Chances(), outcome.faults, workers, lanes, fold_bytes=fold_bytes
    )
    if not outcome.problem and answers != wanted:
        wrong = [name for name, text in wanted.items() if answers[name] != text]
        outcome.problem = f"wrong answers: {', '.join(wrong)}"
    return outcome


def named(dataset: str, queries: tuple[str, ...]) -> str:
    return f"{dataset}.{'+'.join(queries)}"


def simulate_crash_at(
    dataset: str, queries: tuple[str, ...], number: int, fold_bytes: int = 0
) -> tuple[ScheduleResult, str]:
    """A schedule with one fault: the process that runs the durable step of this number crashes there. Also returns
    that step; an empty text if the run has fewer steps."""
    chosen = case(dataset, queries, 0, 2)
    faults = CrashAt(number)
    outcome = ScheduleResult(number, named(dataset, queries))
    answers, outcome.problem, outcome.turns = _play(
        chosen, random.Random(0), Chances(most=0, delay=0, repeat=0), outcome.faults, 2, 2, faults, fold_bytes
    )
    if not outcome.problem and answers != expected(dataset, queries, 0):
        outcome.problem = "wrong answers"
    return outcome, faults.where


class CrashAt(NoFaults):
    """Counts the externally visible steps, before and after each, and crashes at one of them."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.where = ""

    def before(self, step: str, where: str) -> None:
        if step != "read":
            self._count(f"before {step} {where}")

    def after(self, step: str, where: str) -> None:
        self._count(f"after {step} {where}")

    def _count(self, where: str) -> None:
        if self._left == 0 and not self.where:
            self.where = where
            raise Crash
        self._left -= 1


def _play(
    chosen: Case,
    rng: random.Random,
    chances: Chances,
    log: list[str],
    workers: int,
    lanes: int,
    faults: Faults | None = None,
    fold_bytes: int = 0,
) -> tuple[dict[str, str], str, int]:
    """Runs the processes turn by turn until the answers are complete or a problem is found. `faults` replaces the
    random ones."""
    store = Store()
    topology = Topology(chosen.plan, lanes)
    limits = Limits(read_bytes=2_000, snapshot_bytes=1_500, page_rows=3, record_rows=5, lethal_attempts=1_000)
    answers = Answers(chosen.plan)

    def reader(fabric: MemoryFabric) -> Steps:
        # A restarted reader reads all pages again.
        answers.begin()
        return Collect(fabric, JOB, topology, answers)

    client = Process("client", lambda fabric: UploadParts(fabric, chosen, topology, rng, fold_bytes))
    collector = Process("reader", reader)
    worker_processes = [
        Process(f"worker {number}", lambda fabric: Worker(fabric, limits, {JOB: chosen.plan}))
        for number in range(workers)
    ]
    processes = [client, collector, *worker_processes]
    for turn in range(MOST_TURNS):
        chosen_process = rng.choice(processes)
        try:
            _turn(chosen_process, store, rng, chances, log, faults)
        except CauceError as problem:
            return {}, f"{type(problem).__name__}: {problem}", turn
        if isinstance(collector.body, Collect) and collector.body.complete:
            return answers.text(), _leftovers(store, topology, worker_processes, rng, chances, log), turn
    waiting = collector.body.missing_input() if isinstance(collector.body, Collect) else "the reader"
    return {}, f"hangs after {MOST_TURNS} turns: {waiting}", MOST_TURNS


def _turn(
    process: Process,
    store: Store,
    rng: random.Random,
    chances: Chances,
    log: list[str],
    faults: Faults | None = None,
) -> None:
    """One step of a process; a crashed one is restarted instead."""
    try:
        if process.body is None:
            process.fabric = MemoryFabric(store, faults or SimulatedFaults(rng, chances, log, process.name))
            process.body = process.make(process.fabric)
            return
        process.body.step()
    except (Crash, FabricFull, FabricLost):
        assert process.fabric is not None
        process.fabric.close()
        process.body = None
        return
    if len(log) < chances.most and rng.random() < chances.pause:
        # Its leases pass to others while it is paused, and it resumes without knowing.
        log.append(f"{process.name}: is paused until its leases have passed to others")
        store.release(process.fabric)


def _leftovers(
    store: Store,
    topology: Topology,
    worker_processes: list[Process],
    rng: random.Random,
    chances: Chances,
    log: list[str],
) -> str:
    """Lets the workers complete after the last answer, then deletes the job: nothing of it may remain."""
    chances = Chances(most=0)
    for _ in range(3_000):
        if len(store.jobs[JOB].finished) == len(topology.tasks):
            break
        _turn(rng.choice(worker_processes), store, rng, chances, log)
    else:
        return "some tasks are never completed"
    MemoryFabric(store, NoFaults()).delete_job(JOB)
    return "" if not store.jobs else "data of the deleted job remains"
