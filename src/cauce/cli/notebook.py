"""Progress of `cauce.run`: bars in a notebook cell where a kernel runs, else in the terminal, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

from cauce.cli.output import size
from cauce.cli.progress import Bars, terminal_progress
from cauce.worker.client import Watch
from cauce.worker.job import Silent

REDRAW_S = 0.1


def watch_for(totals: Mapping[str, int], progress: bool | None) -> AbstractContextManager[Watch]:
    """`progress` is what the caller of `cauce.run` chose. None draws where somebody can see it."""
    if progress is False:
        return nullcontext(Silent())
    if _kernel() is not None:
        return Bars(totals, NotebookProgress())
    visible = sys.stderr.isatty()
    if progress or visible:
        # Without a terminal it is drawn once, at the end.
        return Bars(totals, terminal_progress(transient=visible))
    return nullcontext(Silent())


def _kernel() -> object | None:
    """The shell of a Jupyter kernel, where one runs. IPython in a terminal has no kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


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
    """Draws as `rich.progress.Progress` does, as far as Bars use it, in one output of the cell. It needs no widgets.

    The output disappears at the end: the answers come in its place.
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
