"""Progress bars of a job at the service: bytes sent of each table, and bytes that the service has read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from rich.progress import TaskID, TimeRemainingColumn

from cauce.client import JobStatus, Sent
from cauce.errors import CauceError
from cauce.terminal.console import error_console
from cauce.terminal.progress import shown, table_progress

LOOK_S = 1.0


class StatusBars:
    """Draws on a terminal only."""

    def __init__(self, totals: Mapping[str, int] | None = None, enabled: bool = True) -> None:
        self.drawn = enabled and error_console().is_terminal
        remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
        self._progress = table_progress(remaining, drawn=self.drawn)
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
        note = f"{held} parts already uploaded" if held else ""
        self._progress.update(self._sending[sent.table], completed=sent.bytes, note=note)

    def poll(self, status: Callable[[], JobStatus]) -> None:
        """Polls `status` in a background thread and shows the rows read, until the bars are closed."""

        def poll_status() -> None:
            while not self._over.wait(LOOK_S):
                try:
                    self.show(status())
                except CauceError:
                    # The upload has the same problem, and reports it.
                    continue

        if self.drawn:
            threading.Thread(target=poll_status, daemon=True).start()

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
