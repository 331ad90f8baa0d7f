"""Progress bars of a run: one per table, measured in bytes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from cauce.process.signals import signals_deferred
from cauce.terminal.console import error_console
from cauce.worker.events import Event

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task

    from cauce.runner.local_client import TableInput
    from cauce.terminal.notebook import NotebookProgress


WIDE = 72
"""Terminals with fewer columns show less beside a progress bar."""


class Display(Protocol):
    """Rich's progress bars and live views."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


@contextmanager
def shown(display: Display) -> Iterator[None]:
    """Starts a display and always stops it. Rich's own context manager leaves the cursor hidden, or fails, on Ctrl-C
    while the display starts or stops."""
    started = False
    try:
        with signals_deferred(signal.SIGINT, signal.SIGTERM):
            display.start()
            started = True
        yield
    finally:
        if started:
            with signals_deferred(signal.SIGINT, signal.SIGTERM):
                display.stop()


def bytes_columns(width: int = WIDE) -> list[ProgressColumn]:
    """Columns of a bar that is measured in bytes. A narrow terminal shows a shorter bar, and no speed."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.table import Column
    from rich.text import Text

    class Speed(TransferSpeedColumn):
        """Nothing instead of a question mark while it is not known."""

        def render(self, task: Task) -> Text:
            return super().render(task) if task.finished_speed or task.speed else Text("")

    # A long name leaves room for the numbers.
    name = Column(no_wrap=True, overflow="ellipsis", max_width=max(width // 4, 10))
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", table_column=name),
        BarColumn(bar_width=min(width // 4, 32) if width >= WIDE else max(width - 34, 4)),
        DownloadColumn(table_column=Column(no_wrap=True)),
    ]
    return [*columns, Speed(table_column=Column(no_wrap=True))] if width >= WIDE else columns


def table_progress(time: ProgressColumn, *, transient: bool = False, drawn: bool = True) -> Progress:
    """Bars of tables, with their rows, a time and a note. `time` is the column that shows the time."""
    from rich.progress import Progress, ProgressColumn, TextColumn
    from rich.table import Column

    class Rows(ProgressColumn):
        """Nothing until rows are counted: an upload counts none."""

        def render(self, task: Task) -> str:
            rows: int = task.fields["rows"]
            return f"{rows:>11,} rows" if rows else ""

    width = error_console().width
    details = [Rows(table_column=Column(no_wrap=True)), time, TextColumn("{task.fields[note]}")]
    return Progress(
        *bytes_columns(width),
        *(details if width >= WIDE else ()),
        console=error_console(),
        transient=transient,
        disable=not drawn,
    )


def terminal_progress(*, transient: bool = False) -> Progress:
    # Imported only if there is a terminal to draw on.
    from rich.progress import TimeElapsedColumn

    return table_progress(TimeElapsedColumn(), transient=transient)


class Bars:
    """Shows the progress of a run. Draws on a terminal only."""

    def __init__(self, inputs: Mapping[str, TableInput], progress: Progress | NotebookProgress | None = None) -> None:
        """`progress` replaces the terminal as the place to draw."""
        self._progress: Any = progress or (terminal_progress() if sys.stderr.isatty() else None)
        self._tasks: dict[str, int] = {}
        if self._progress is not None:
            add = self._progress.add_task
            self._tasks = {table: add(each.shown, total=each.bytes, rows=0, note="") for table, each in inputs.items()}
        self._weights: dict[tuple[str, int], int] = {}
        self._early: set[tuple[str, int]] = set()
        self.rows = dict.fromkeys(inputs, 0)
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
        # A resumed run receives events of parts before it has cut them again.
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

    def still(self, missing_input: str) -> None:
        error_console().print(f"still working, no new results for a while: {missing_input}", style="yellow")
