"""The output of a fold: numbers the records of each edge and partition, however many steps make them."""

from __future__ import annotations

import polars as pl

from cauce.fabric.names import Log
from cauce.fabric.records import Kind, record
from cauce.job.frames import frame_record
from cauce.operators.weight import weigh
from cauce.plan.physical import Edge
from cauce.process.progress import tick
from cauce.worker.tasks.task import Task

Counts = dict[int, list[int]]
"""By edge, the number of records sent to each partition."""


class FoldOutput:
    """Sends frames as records of at most `record_rows` rows. The first frame for a partition is sent even if it is
    empty, because its reader needs the columns."""

    def __init__(self, task: Task, sent: Counts | None = None) -> None:
        self._task = task
        self.sent: Counts = dict(sent or {})

    def add(self, edge: Edge, frames: list[pl.DataFrame]) -> None:
        """Sends the frames of all partitions."""
        sent = self.sent.setdefault(edge.number, [0] * len(frames))
        for partition, frame in enumerate(frames):
            if frame.height or not sent[partition]:
                for piece in pieces_of(frame, self._task.context.limits.record_rows):
                    self._task.send(edge, partition, sent[partition], piece)
                    sent[partition] += 1

    def end(self) -> None:
        """Closes the output of each partition, after its records are confirmed: its reader relies on that."""
        self._task.flush()
        for edge in self._task.spec.stage.sends:
            for partition, count in enumerate(self.sent[edge.number]):
                self._task.send_end(edge, partition, count)


class PageOutput:
    """Sends the rows of an answer, in order, as pages of exactly `page_rows` rows, or fewer if these exceed
    `page_bytes`; the last one may have fewer. So the pages depend only on the rows. Pages before number `first` are
    known to be in the log."""

    def __init__(self, task: Task, log: Log, first: int = 0) -> None:
        self._task = task
        self._log = log
        self._first = first
        self._held: list[pl.DataFrame] = []
        self._held_rows = 0
        self._held_bytes = 0
        self.pages = 0

    def add(self, frame: pl.DataFrame) -> None:
        self._held.append(frame)
        self._held_rows += frame.height
        self._held_bytes += weigh(frame)
        limits = self._task.context.limits
        if self._held_rows >= limits.page_rows or self._held_bytes > limits.page_bytes:
            self._send_whole_pages()

    def _send_whole_pages(self) -> None:
        limits = self._task.context.limits
        held, start = pl.concat(self._held), 0
        while start < held.height:
            page = held.slice(start, limits.page_rows)
            rows = rows_within(page, limits.page_bytes)
            if rows == held.height - start < limits.page_rows:
                break
            self._send(page.head(rows))
            start += rows
        rest = held.slice(start)
        self._held, self._held_rows, self._held_bytes = [rest], rest.height, weigh(rest)

    def end(self) -> None:
        """Sends the remaining rows, and the number of pages after all of them are confirmed: its reader relies on that.
        There is at least one page."""
        if self._held_rows or not self.pages:
            self._send(pl.concat(self._held))
        self._task.flush()
        self._task.emit(self._log, record(Kind.END, self._task.spec.number, self.pages))

    def _send(self, page: pl.DataFrame) -> None:
        if self.pages >= self._first:
            self._task.emit(self._log, frame_record(self._task.spec.number, self.pages, page))
        self.pages += 1
        tick()


def pieces_of(frame: pl.DataFrame, rows: int) -> list[pl.DataFrame]:
    """Splits the frame, in order, into pieces of at most `rows` rows; at least one piece."""
    return [frame.slice(start, rows) for start in range(0, max(frame.height, 1), rows)]


def rows_within(frame: pl.DataFrame, most_bytes: int) -> int:
    """How many of the first rows weigh at most so much together; at least one."""
    if weigh(frame) <= most_bytes:
        return frame.height
    fits, exceeds = 1, frame.height
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if weigh(frame.head(middle)) <= most_bytes:
            fits = middle
        else:
            exceeds = middle
    return fits
