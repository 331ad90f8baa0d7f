"""The manifest of a job. A process that has the dataset builds the same plan from it, and refuses the job if the plan
differs. Any process can read the results of the job from it, without a plan."""

from __future__ import annotations

import pickle
from collections import OrderedDict

import msgspec
import polars as pl

from cauce import __version__
from cauce.datasets.registry import Registry
from cauce.errors import CorruptRecord, FabricError, PlanMismatch, UsageError
from cauce.fabric.names import Log
from cauce.fabric.versions import decode_json
from cauce.job.kept import KeptVersion
from cauce.plan import Dataset
from cauce.plan.outputs import Output, output_named
from cauce.plan.physical import Plan
from cauce.process.memory_limit import MemoryBudget
from cauce.sql_frontend.source import SqlSource

VERSION = 4
"""Workers that read only earlier versions leave the job alone. They would fail it, because their plan differs."""
OLDEST_VERSION = 2
PROGRAM = f"Cauce {__version__} with Polars {pl.__version__}"
"""The versions that a plan depends on."""
OLDER_PROGRAM = "an older version of Cauce"
"""Stands for the `PROGRAM` of a manifest that names none."""
_PLANS_KEPT = 64
_plans: OrderedDict[bytes, Plan] = OrderedDict()


class StoredLog(msgspec.Struct, frozen=True):
    """A log that is read after the job has ended, and the producers that close it."""

    encoded_log: str = msgspec.field(name="log")
    producers: tuple[int, ...]

    @property
    def log(self) -> Log:
        return Log.decode(self.encoded_log)


class StoredAnswer(StoredLog, frozen=True):
    """The log with the pages of a query, and its columns as (column name, output name)."""

    columns: tuple[tuple[str, str], ...]

    def outputs(self) -> dict[str, Output]:
        return {column: output_named(name) for column, name in self.columns}


class Outline(msgspec.Struct, frozen=True):
    """All that is needed to read the results of a job: the reports on its tables and the pages of its queries, each in
    plan order. Independent of the versions of the dataset, of Cauce and of Polars."""

    tables: dict[str, StoredLog] = {}
    answers: dict[str, StoredAnswer] = {}

    def check(self) -> None:
        """Raises FabricError for an invalid log, UsageError for an unknown output."""
        for stored in (*self.tables.values(), *self.answers.values()):
            _ = stored.log
        for answer in self.answers.values():
            answer.outputs()


class MemoryShares(msgspec.Struct, frozen=True):
    """A fold whose input is larger than `fold_bytes` is split; one that cannot be split may have `whole_bytes`, and
    the broadcast inputs of a stage `broadcast_bytes`. The same for every worker of a job, so that all of them split the
    same folds. 0: there is no limit."""

    fold_bytes: int = 0
    whole_bytes: int = 0
    broadcast_bytes: int = 0

    @classmethod
    def of(cls, memory: MemoryBudget | None) -> MemoryShares:
        """The shares of a worker's memory; without limits if it is None."""
        return cls() if memory is None else cls(memory.fold_bytes, memory.whole_bytes, memory.broadcast_bytes)


class Manifest(msgspec.Struct, frozen=True):
    job: str
    dataset: str
    """Its name. A process without a dataset of this name skips the job."""
    queries: tuple[str, ...]
    parameters: dict[str, str]
    partitions: int
    lanes: int
    digest: str
    """Of the plan."""
    workers: int = 1
    version: int = VERSION
    owner: str = ""
    """The user who owns the job in a service; empty for a local run."""
    created: float = 0.0
    source: str = ""
    """Digest of the file that declares the dataset."""
    outline: Outline = Outline()
    memory: MemoryShares = MemoryShares()
    sql: SqlSource | None = None
    """The statements and tables of a job whose queries are SQL. Such a job needs no dataset of a process, unless its
    statements read the tables of a declared one."""
    large: tuple[str, ...] = ()
    """Tables that are too large to be broadcast, as far as their sizes were known when the job was created."""
    on: KeptVersion | None = None
    """The version of a kept dataset that the job reads; None if its client sends the data."""
    program: str = ""
    """The `PROGRAM` that planned the job. Empty before version 4, and for a job that no other process reads."""

    @property
    def of_this_program(self) -> bool:
        """Whether the same versions of Cauce and of Polars planned the job. Others have other plans."""
        return self.version == VERSION and self.program in ("", PROGRAM)

    def dump(self) -> bytes:
        return msgspec.json.encode(self)

    def plan(self, datasets: Registry) -> Plan:
        """Builds the plan, or returns a cached one: plans are immutable, and building one takes milliseconds.

        Raises DatasetMissing if the dataset is not registered, PlanMismatch if the plan differs from the manifest's.
        """
        if self.program not in ("", PROGRAM):
            raise PlanMismatch(
                f"job {self.job} was planned by {self.program}, and this process is {PROGRAM}: run a worker and a "
                "gateway of that version until the job has ended, or start a new job"
            )
        key = self._plan_key
        if self.sql is None or self.sql.declared:
            datasets.require(self.dataset if self.sql is None else self.sql.declared)
        plan = _plans.pop(key, None) or self._make_plan(self._load(datasets))
        _keep_plan(key, plan)
        return plan

    @property
    def _plan_key(self) -> bytes:
        return msgspec.json.encode((self.digest, self.dataset, self.queries, self.parameters, self.partitions))

    def dump_plan(self, plan: Plan) -> bytes:
        """The plan of this job for `keep_plan`, in a process of the same program that runs the job for this one."""
        return pickle.dumps((self._plan_key, plan), pickle.HIGHEST_PROTOCOL)

    def _load(self, datasets: Registry) -> Dataset:
        if self.sql is None:
            return datasets.load(self.dataset)
        # Imported only for such jobs: the parser takes a tenth of a second.
        from cauce.sql_frontend.dataset import dataset_of

        declared = datasets.load(self.sql.declared) if self.sql.declared else None
        return dataset_of(self.sql, self.parameters, self.dataset, declared)

    def _make_plan(self, dataset: Dataset) -> Plan:
        if self.source and dataset.version != self.source:
            raise PlanMismatch(
                f"the code of dataset {self.dataset} has changed since job {self.job} was created: run the same "
                "version of Cauce and of the dataset everywhere, or start a new job"
            )
        plan = dataset.plan(self.queries, self.parameters, self.partitions, self.large, isolate=False)
        if plan.digest != self.digest:
            raise PlanMismatch(
                f"job {self.job} was planned as {self.digest[:12]}, this process plans {plan.digest[:12]} for "
                f"{self.dataset}: run the same version of Cauce and of the dataset everywhere, or start a new job"
            )
        return plan


def keep_plan(dumped: bytes) -> None:
    """Caches a plan that the parent of this process has made. Never for bytes of a log or of a client: loading them may
    run any code."""
    key, plan = pickle.loads(dumped)  # noqa: S301
    _keep_plan(key, plan)


def _keep_plan(key: bytes, plan: Plan) -> None:
    _plans[key] = plan
    while len(_plans) > _PLANS_KEPT:
        _plans.popitem(last=False)


def load_manifest(data: bytes, job: str = "") -> Manifest:
    """Raises CorruptRecord if the bytes are not a manifest, OtherVersion if another version has written them."""
    what = f"the stored manifest of job {job}" if job else "the stored manifest"
    if not data.strip(b"\0 \n"):
        raise CorruptRecord(f"{what} is damaged: it is empty")
    manifest = decode_json(data, Manifest, VERSION, what, oldest=OLDEST_VERSION)
    try:
        manifest.outline.check()
    except (UsageError, FabricError) as problem:
        raise CorruptRecord(f"{what} is damaged: {problem}") from None
    return manifest
