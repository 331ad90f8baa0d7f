"""Progress bars: one for each table that is read, by bytes."""

from __future__ import annotations

from collections.abc import Mapping

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from cauce.cli.output import errors
from cauce.worker.events import Event


class Bars:
    """Watches a run on the terminal; on anything else than a terminal it draws nothing."""

    def __init__(self, totals: Mapping[str, int]) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(bar_width=32),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rows]:>13,} rows"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=errors,
            disable=not errors.is_terminal,
        )
        self._tasks = {
            table: self._progress.add_task(table, total=total, rows=0, note="") for table, total in totals.items()
        }
        self._weights: dict[tuple[str, int], int] = {}
        self._early: set[tuple[str, int]] = set()
        self.rows = dict.fromkeys(totals, 0)
        self.bytes = 0
        self.restarts = 0

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._progress.stop()

    def cut(self, table: str, seq: int, part_bytes: int) -> None:
        self._weights[table, seq] = part_bytes
        # A run that goes on where it was hears of parts before it has cut them again.
        if (table, seq) in self._early:
            self._early.remove((table, seq))
            self._advance(table, part_bytes)

    def scanned(self, table: str, seq: int, rows: int) -> None:
        self.rows[table] += rows
        weight = self._weights.pop((table, seq), None)
        if weight is None:
            self._early.add((table, seq))
        else:
            self._advance(table, weight)

    def _advance(self, table: str, weight: int) -> None:
        self.bytes += weight
        self._progress.update(self._tasks[table], advance=weight, rows=self.rows[table])

    def event(self, event: Event, restarts: int) -> None:
        self.restarts = restarts
        if event.what == "died":
            how = f"signal {event.signal}" if event.signal else f"exit code {event.code}"
            self._progress.console.print(f"worker {event.worker} (pid {event.pid}) died: {how}", style="yellow")
        elif restarts:
            first = next(iter(self._tasks.values()))
            self._progress.update(first, note=f"{restarts} restarts")

    def still(self, waits_for: str) -> None:
        self._progress.console.print(f"nothing has moved for a while: {waits_for}", style="yellow")
