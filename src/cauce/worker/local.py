"""Runs a plan in this process: stages one after the other, the parts of a table on a few threads.

The compiled scan and Polars release the interpreter's lock, so threads are enough on one machine.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.plan.evaluate import Received, answer, run_fold, run_part
from cauce.plan.physical import Plan, Result, Stage
from cauce.scan.block import REJECT_SCHEMA
from cauce.scan.parts import PART_BYTES, Part, TableFile, parts_of
from cauce.worker.intake import InOrder, Intake, Name

ROWS_PER_PART_BITS = 32
"""A row's position is its part's number and its place there."""

WINDOW = 3
"""Parts under way for each thread."""

T = TypeVar("T")
R = TypeVar("R")


class Sink(Protocol):
    """Where answers and rejects go. Pages of a query come in their order; rejects by table, in input order."""

    def page(self, query: str, frame: pl.DataFrame) -> None: ...

    def rejects(self, frame: pl.DataFrame) -> None: ...


class Watch(Protocol):
    """Told how far a run is. Methods are called from one thread."""

    def scanning(self, table: str, total_bytes: int) -> None: ...

    def scanned(self, table: str, part_bytes: int, rows: int) -> None: ...


@dataclass(frozen=True)
class Settings:
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    part_bytes: int = PART_BYTES


@dataclass(frozen=True)
class Processed:
    """What became of a part."""

    seq: int
    rows: int
    sent: Mapping[int, list[pl.DataFrame]]
    rejects: pl.DataFrame


class LocalRun:
    """One run of a plan. `reorder` is for tests: it may shuffle or repeat the parts of a table."""

    def __init__(
        self,
        plan: Plan,
        files: Mapping[str, list[TableFile]],
        sink: Sink,
        watch: Watch,
        settings: Settings | None = None,
        reorder: Callable[[Iterator[Part]], Iterable[Part]] = lambda parts: parts,
    ) -> None:
        self._plan = plan
        self._files = files
        self._sink = sink
        self._watch = watch
        self._settings = settings or Settings()
        self._reorder = reorder
        self._streamed = {
            number: stage.result
            for stage in plan.stages
            if stage.result is not None and stage.result.ordered
            for number in stage.receives
        }
        self._intakes = {
            number: [Intake(edge) for _ in range(plan.partitions if edge.spread == "hash" else 1)]
            for number, edge in plan.edges.items()
            if number not in self._streamed
        }
        self._buffers = threading.local()

    def run(self) -> None:
        with ThreadPoolExecutor(self._settings.threads) as pool:
            for stage in self._plan.stages:
                if stage.table is not None:
                    self._run_source(stage, pool)
                elif stage.result is None:
                    self._run_folds(stage, pool)
                elif not stage.result.ordered:
                    self._page(stage.result, self._received(stage, 0))
                self._forget(stage)

    def _run_source(self, stage: Stage, pool: ThreadPoolExecutor) -> None:
        assert stage.table is not None
        name = stage.table.name
        files = self._files[name]
        self._watch.scanning(name, sum(file.bytes for file in files))
        received = self._received(stage, 0)
        pages = {edge.number: InOrder() for edge in stage.sends if edge.number in self._streamed}
        rejects = InOrder()
        done: set[int] = set()

        def work(part: Part) -> tuple[Part, Processed]:
            return part, self._process(stage, received, part)

        parts = self._reorder(parts_of(files, stage.table, self._settings.part_bytes))
        for part, outcome in _windowed(pool, work, parts, WINDOW * self._settings.threads):
            if part.seq not in done:
                self._watch.scanned(name, part.weight, outcome.rows)
                done.add(part.seq)
            for frame in rejects.take(part.seq, outcome.rejects):
                self._sink.rejects(frame)
            self._hand_out(stage, outcome, pages)

    def _process(self, stage: Stage, received: Received, part: Part) -> Processed:
        assert stage.table is not None
        block = part.read(stage.table, stage.read_columns, self._buffer)
        report = stage.report_rejects
        rejects = pl.DataFrame(schema=REJECT_SCHEMA) if report is None else block.rejects(report)
        sent = run_part(stage, received, block, part.seq << ROWS_PER_PART_BITS, self._plan.partitions)
        return Processed(part.seq, block.height, sent, rejects)

    def _buffer(self, size: int) -> npt.NDArray[np.uint8]:
        held: npt.NDArray[np.uint8] | None = getattr(self._buffers, "held", None)
        if held is None or held.size < size:
            held = np.empty(max(size, self._settings.part_bytes + self._settings.part_bytes // 8), np.uint8)
            self._buffers.held = held
        return held

    def _hand_out(self, stage: Stage, outcome: Processed, pages: Mapping[int, InOrder]) -> None:
        for number, frames in outcome.sent.items():
            if number in pages:
                for frame in pages[number].take(outcome.seq, frames[0]):
                    self._page(self._streamed[number], Received({number: frame}))
                continue
            for intake, frame in zip(self._intakes[number], frames, strict=True):
                intake.take(Name(stage.name, outcome.seq), frame)

    def _run_folds(self, stage: Stage, pool: ThreadPoolExecutor) -> None:
        def work(partition: int) -> dict[int, list[pl.DataFrame]]:
            return run_fold(stage, self._received(stage, partition), self._plan.partitions)

        for partition, sent in enumerate(pool.map(work, range(stage.partitions))):
            for number, frames in sent.items():
                for intake, frame in zip(self._intakes[number], frames, strict=True):
                    intake.take(Name(stage.name, partition), frame)

    def _received(self, stage: Stage, partition: int) -> Received:
        frames = {}
        for number in stage.receives:
            intakes = self._intakes[number]
            frames[number] = intakes[partition if len(intakes) > 1 else 0].frame()
        return Received(frames)

    def _page(self, result: Result, received: Received) -> None:
        self._sink.page(result.query, answer(result, received))

    def _forget(self, stage: Stage) -> None:
        """Drops what no later stage reads."""
        later = self._plan.stages[self._plan.stages.index(stage) + 1 :]
        needed = {number for each in later for number in each.receives}
        for number in stage.receives:
            if number not in needed:
                self._intakes.pop(number, None)


def _windowed(pool: ThreadPoolExecutor, work: Callable[[T], R], items: Iterable[T], window: int) -> Iterator[R]:
    """Outcomes in the order of the items, with a bounded number of them under way."""
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) >= window:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
