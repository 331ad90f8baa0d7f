"""Progress bars: one for each table that is read, by bytes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from cauce.cli.output import error_console
from cauce.worker.events import Event

if TYPE_CHECKING:
    from rich.progress import Progress

    from cauce.cli.notebook import NotebookProgress


class Display(Protocol):
    """Rich's progress bars and live views."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


@contextmanager
def shown(display: Display) -> Iterator[None]:
    """Shows a display, and always takes it away. Rich's own `with` leaves the cursor hidden, or fails, if Ctrl-C comes
    while the display starts or stops."""
    started = False
    try:
        with _signals_deferred():
            display.start()
            started = True
        yield
    finally:
        if started:
            with _signals_deferred():
                display.stop()


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """SIGINT and SIGTERM that come within the block are handled at its end."""
    if threading.current_thread() is not threading.main_thread():
        # Python handles signals in the main thread only.
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for each in dict.fromkeys(came):
            signal.raise_signal(each)


def terminal_progress(*, transient: bool = False) -> Progress:
    # Loaded where there is a terminal to draw on.
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

    return Progress(
        TextColumn("{task.description}", justify="left"),
        BarColumn(bar_width=32),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[rows]:>13,} rows"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=error_console(),
        transient=transient,
    )


class Bars:
    """Shows a run on the terminal; on anything else than a terminal it draws nothing."""

    def __init__(self, totals: Mapping[str, int], progress: Progress | NotebookProgress | None = None) -> None:
        """`progress` draws in another place instead."""
        self._progress: Any = progress or (terminal_progress() if sys.stderr.isatty() else None)
        self._tasks: dict[str, int] = {}
        if self._progress is not None:
            add = self._progress.add_task
            self._tasks = {table: add(table, total=total, rows=0, note="") for table, total in totals.items()}
        self._weights: dict[tuple[str, int], int] = {}
        self._early: set[tuple[str, int]] = set()
        self.rows = dict.fromkeys(totals, 0)
        self.bytes = 0
        self.restarts = 0
        self._shown = ExitStack()

    def __enter__(self) -> Bars:
        if self._progress is not None:
            self._shown.enter_context(shown(self._progress))
        return self

    def __exit__(self, *problem: object) -> None:
        self._shown.close()

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
        if self._progress is not None:
            self._progress.update(self._tasks[table], advance=weight, rows=self.rows[table])

    def event(self, event: Event, restarts: int) -> None:
        self.restarts = restarts
        if event.what == "died":
            how = f"signal {event.signal}" if event.signal else f"exit code {event.code}"
            error_console().print(f"worker {event.worker} (pid {event.pid}) crashed: {how}", style="yellow")
        elif restarts and self._progress is not None:
            first = next(iter(self._tasks.values()))
            self._progress.update(first, note=f"{restarts} restarts")

    def still(self, waits_for: str) -> None:
        error_console().print(f"no progress for a while: {waits_for}", style="yellow")
