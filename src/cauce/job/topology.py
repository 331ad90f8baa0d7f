"""The tasks of a plan, the logs they read and write, and the producers of each log: identical in every process.

Small logs, and logs read by the same processes, share a log group (see the fabric's contract); the part logs of a table
never do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cauce.fabric.names import Log
from cauce.job.kept import KeptVersion, RawSource
from cauce.job.manifest import Outline, StoredAnswer, StoredLog
from cauce.plan.outputs import output_name
from cauce.plan.physical import Edge, Plan, Result, Stage
from cauce.scan.tables import TableSpec

SOURCES = "sources"
FOLDS = "folds"
CONTROL = "control"
SHARED_GROUP = "home"
"""The log group of answers, reports and streamed edges."""
JOB_LOG = Log(CONTROL, "job")

_EDGE_LOG_GROUPS = 4
"""Fewer groups are cheaper to create, more are cheaper to read: a reader skips over the other edges of a group."""


@dataclass(frozen=True)
class TaskSpec:
    """One lane of a source stage, or one partition of another stage. `number` is its producer number."""

    number: int
    stage: Stage
    index: int

    @property
    def name(self) -> str:
        return f"{self.number:05d}"

    @property
    def journal(self) -> Log:
        return Log("journal", self.name)

    def __str__(self) -> str:
        kind = "lane" if self.stage.table is not None else "partition"
        return f"{self.stage.name}, {kind} {self.index}"


@dataclass(frozen=True, eq=False)
class Topology:
    """A plan executed with a given number of lanes."""

    plan: Plan
    lanes: int
    kept: KeptVersion | None = None
    """The version of a kept dataset that the job reads."""

    def lanes_of(self, table: TableSpec) -> int:
        if self.kept is not None:
            return self.kept.tables[table.name].lanes
        return 1 if table.small else self.lanes

    @cached_property
    def streamed(self) -> dict[int, Result]:
        """Edges that carry the pages of an answer directly from the scan."""
        return {
            number: stage.result
            for stage in self.plan.stages
            if stage.result is not None and stage.result.ordered
            for number in stage.receives
        }

    @cached_property
    def tasks(self) -> tuple[TaskSpec, ...]:
        return tuple(self._tasks())

    def _tasks(self) -> Iterator[TaskSpec]:
        number = 0
        for stage in self.plan.stages:
            if stage.result is not None and stage.result.ordered:
                continue
            width = self.lanes_of(stage.table) if stage.table is not None else stage.partitions
            for index in range(width):
                yield TaskSpec(number, stage, index)
                number += 1

    @cached_property
    def by_name(self) -> dict[str, TaskSpec]:
        return {task.name: task for task in self.tasks}

    def queue(self, name: str) -> list[str]:
        """Names of the tasks of one of the two queues, in an executable order."""
        return [task.name for task in self.tasks if (task.stage.table is not None) == (name == SOURCES)]

    @cached_property
    def fold_count(self) -> int:
        """The number of tasks of the queue of folds. Workers ask for it in every round."""
        return sum(task.stage.table is None for task in self.tasks)

    @cached_property
    def _producers(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for task in self.tasks:
            for edge in task.stage.sends:
                found.setdefault(edge.number, []).append(task.number)
        return {number: tuple(tasks) for number, tasks in found.items()}

    def producers(self, edge: Edge) -> tuple[int, ...]:
        return self._producers[edge.number]

    def width(self, edge: Edge) -> int:
        return self.plan.partitions if edge.spread == "hash" else 1

    def edge_log(self, edge: Edge, partition: int) -> Log:
        name = f"edge-{edge.number}-{partition if self.width(edge) > 1 else 0}"
        return Log(SHARED_GROUP if edge.number in self.streamed else f"edges{edge.number % _EDGE_LOG_GROUPS}", name)

    def raw_log(self, table: TableSpec, lane: int) -> Log:
        return Log(f"raw-{table.name}-{lane}")

    def source(self, job: str, table: TableSpec, lane: int) -> RawSource:
        """Where the parts of a lane are."""
        if self.kept is not None:
            return self.kept.source(table.name, lane)
        return RawSource(job, self.raw_log(table, lane))

    def raw_logs(self) -> list[Log]:
        """The logs of all lanes of the job's own tables: none if it reads a kept dataset."""
        own = self.plan.tables if self.kept is None else ()
        return [self.raw_log(table, lane) for table in own for lane in range(self.lanes_of(table))]

    def logs(self) -> list[Log]:
        """Every log of the job whose producers close it with a count."""
        edges = [self.edge_log(edge, each) for edge in self._edges() for each in range(self.width(edge))]
        answers = [self.result_log(query) for query in self.plan.results]
        reports = [self.reports_log(table) for table in self.plan.tables]
        return list(dict.fromkeys([*self.raw_logs(), *edges, *answers, *reports]))

    def _edges(self) -> Iterator[Edge]:
        for stage in self.plan.stages:
            yield from stage.sends

    def tables_before(self, table: TableSpec) -> frozenset[str]:
        """The other tables that must be complete before this one can be read."""
        senders = {edge.number: stage for stage in self.plan.stages for edge in stage.sends}
        first = [stage for stage in self.plan.stages if stage.table is table and stage.report_rejects is not None]
        ahead = {number for stage in first for number in stage.receives}
        seen: set[int] = set()
        while ahead:
            seen |= ahead
            ahead = {number for each in ahead for number in senders[each].receives} - seen
        tables = (senders[number].table for number in seen)
        return frozenset(each.name for each in tables if each is not None) - {table.name}

    @cached_property
    def before_scans(self) -> frozenset[Stage]:
        """The stages whose output a pass over a table waits for, directly or through others."""
        senders = {edge.number: stage for stage in self.plan.stages for edge in stage.sends}
        ahead = {number for stage in self.plan.stages if stage.table is not None for number in stage.receives}
        seen: set[int] = set()
        while ahead:
            seen |= ahead
            ahead = {number for each in ahead for number in senders[each].receives} - seen
        return frozenset(senders[number] for number in seen)

    def reports_log(self, table: TableSpec) -> Log:
        return Log(SHARED_GROUP, f"reports-{table.name}")

    def reporters(self, table: TableSpec) -> tuple[int, ...]:
        """The producers of a table's reject reports: the lanes of its first pass."""
        return tuple(
            task.number for task in self.tasks if task.stage.table is table and task.stage.report_rejects is not None
        )

    def result_log(self, query: str) -> Log:
        for number, result in self.streamed.items():
            if result.query == query:
                return Log(SHARED_GROUP, f"edge-{number}-0")
        return Log(SHARED_GROUP, f"answer-{query}")

    def result_producers(self, query: str) -> tuple[int, ...]:
        for number, result in self.streamed.items():
            if result.query == query:
                return self._producers[number]
        return tuple(task.number for task in self.tasks if task.stage.result and task.stage.result.query == query)

    def outline(self) -> Outline:
        """The part of the topology that is needed to read the results of the job."""
        tables = {
            table.name: StoredLog(self.reports_log(table).encode(), self.reporters(table)) for table in self.plan.tables
        }
        answers = {query: self._stored_answer(result) for query, result in self.plan.results.items()}
        return Outline(tables, answers)

    def _stored_answer(self, result: Result) -> StoredAnswer:
        columns = tuple((column, output_name(output)) for column, output in result.columns.items())
        return StoredAnswer(self.result_log(result.query).encode(), self.result_producers(result.query), columns)
