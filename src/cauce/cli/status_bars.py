"""Progress bars of a job at the service: what was sent of each table, and what the service has read of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from cauce.cli.output import error_console
from cauce.cli.progress import shown
from cauce.client import JobStatus, Sent
from cauce.errors import CauceError

LOOK_S = 1.0


class StatusBars:
    """On anything else than a terminal it draws nothing."""

    def __init__(self, totals: Mapping[str, int] | None = None, enabled: bool = True) -> None:
        self.drawn = enabled and error_console().is_terminal
        self._progress = Progress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(bar_width=32),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rows]:>13,} rows"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[note]}"),
            console=error_console(),
            disable=not self.drawn,
        )
        self._sending = {table: self._bar(f"send {table}", total) for table, total in (totals or {}).items()}
        self._reading: TaskID | None = None
        self._over = threading.Event()
        self._shown = ExitStack()

    def _bar(self, what: str, total: int | None) -> TaskID:
        return self._progress.add_task(what, total=total, rows=0, note="")

    def __enter__(self) -> StatusBars:
        self._shown.enter_context(shown(self._progress))
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._shown.close()

    def sent(self, sent: Sent) -> None:
        held = sent.parts - sent.sent
        note = f"{held} parts already there" if held else ""
        self._progress.update(self._sending[sent.table], completed=sent.bytes, note=note)

    def look(self, status: Callable[[], JobStatus]) -> None:
        """Shows rows while something is sent, from now and then until the bars go."""

        def looking() -> None:
            while not self._over.wait(LOOK_S):
                try:
                    self.show(status())
                except CauceError:
                    # The upload meets it too, and says so.
                    continue

        if self.drawn:
            threading.Thread(target=looking, daemon=True).start()

    def show(self, status: JobStatus) -> None:
        for name, bar in self._sending.items():
            if name in status.tables:
                self._progress.update(bar, rows=status.tables[name].rows)
        received = sum(table.bytes for table in status.tables.values())
        read = sum(table.bytes * table.parts_read // max(table.parts, 1) for table in status.tables.values())
        known = all(table.complete is not None for table in status.tables.values())
        if self._reading is None:
            self._reading = self._bar("read", None)
        complete = sum(answer.complete for answer in status.answers.values())
        self._progress.update(
            self._reading,
            total=received if known else None,
            completed=read,
            rows=status.rows,
            note=f"{status.state}, {complete} of {len(status.answers)} answers",
        )
