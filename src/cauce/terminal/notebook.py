"""Progress of `cauce.run`: bars in the cell of a notebook, else in the terminal, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

from cauce.errors import UsageError
from cauce.runner.answers import in_notebook
from cauce.runner.local_client import TableInput, Watch
from cauce.runner.sinks import Silent
from cauce.terminal.console import size
from cauce.terminal.progress import Bars, terminal_progress

REDRAW_S = 0.1


def watch_for(progress: bool | None) -> Callable[[Mapping[str, TableInput]], AbstractContextManager[Watch]]:
    """`progress` is the option of `cauce.run`. None draws in notebooks and terminals only."""
    if progress not in (None, True, False):
        raise UsageError(f"progress must be True, False or None, not {progress!r}")
    return lambda inputs: _watch(inputs, progress)


def _watch(inputs: Mapping[str, TableInput], progress: bool | None) -> AbstractContextManager[Watch]:
    if progress is False:
        return nullcontext(Silent())
    if in_notebook():
        return Bars(inputs, NotebookProgress())
    visible = sys.stderr.isatty()
    if progress or visible:
        # Without a terminal, Rich draws the bars once, at the end.
        return Bars(inputs, terminal_progress(transient=visible))
    return nullcontext(Silent())


@dataclass
class _Bar:
    table: str
    total: int
    done: int = 0
    rows: int = 0
    note: str = ""

    def html(self) -> str:
        label = f"{escape(self.table)}: {size(self.done)} of {size(self.total)}, {self.rows:,} rows {escape(self.note)}"
        return f"<div><progress value='{self.done}' max='{max(self.total, 1)}'></progress> {label}</div>"


class NotebookProgress:
    """Implements the part of `rich.progress.Progress` that Bars use, in one output of the cell, without widgets.

    The output is cleared at the end, to make place for the answers.
    """

    def __init__(self) -> None:
        self._bars: list[_Bar] = []
        self._handle: Any = None
        self._drawn_at = 0.0

    def add_task(self, description: str, *, total: int, rows: int, note: str) -> int:
        self._bars.append(_Bar(description, total, rows=rows, note=note))
        return len(self._bars) - 1

    def update(self, task: int, *, advance: int = 0, rows: int | None = None, note: str | None = None) -> None:
        bar = self._bars[task]
        bar.done += advance
        bar.rows = bar.rows if rows is None else rows
        bar.note = bar.note if note is None else note
        if time.monotonic() - self._drawn_at >= REDRAW_S:
            self._draw()

    def start(self) -> None:
        self._draw()

    def stop(self) -> None:
        self._show("")

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        self._show("".join(bar.html() for bar in self._bars))

    def _show(self, html: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        shown = HTML(html)
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)
