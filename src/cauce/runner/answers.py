"""The answers that `cauce.run` returns: a frame per query, and the rejects. Rendered as tables in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import polars as pl

from cauce.errors import NoSuchAnswer, did_you_mean
from cauce.scan.block import REJECT_SCHEMA
from cauce.scan.reject_summary import RejectSummary

SHOWN_ROWS = 10
SHOWN_REJECTS = 5
SHOWN_CHARACTERS = 100
_NARROW_CHARACTERS = 40
"""Shorter cells are not wrapped."""
"""Limits of what a notebook shows; the frames hold everything."""


class Answers(dict[str, pl.DataFrame]):
    """A dictionary from the name of each query, in the order of the dataset, to its answer as a Polars frame.

    `rejects` is a frame of the cells and rows that could not be parsed: file, line, column, reason and raw text.
    `seconds` is the time that the answers took.

    >>> answers = cauce.run("examples/my_shop.py", "examples/my_shop", ["tags", "ranking"])
    >>> list(answers)
    ['tags', 'ranking']
    >>> answers.rejects.columns
    ['file', 'line', 'column', 'reason', 'raw']
    """

    def __init__(
        self,
        frames: Mapping[str, pl.DataFrame] | None = None,
        rejects: pl.DataFrame | None = None,
        questions: Mapping[str, str] | None = None,
        summary: RejectSummary | None = None,
    ) -> None:
        super().__init__(frames or {})
        self.rejects = pl.DataFrame(schema=REJECT_SCHEMA) if rejects is None else rejects
        self.questions = dict(questions or {})
        """The question of each query, as the dataset states it."""
        self.summary = summary or RejectSummary()
        self.seconds: float | None = None
        """The time from the call to the answers; None if they come from a service."""
        self.remarks: tuple[str, ...] = ()
        """Remarks of `cauce.sql` about the files: columns with mixed cells, numbers with commas, other encodings."""

    @property
    def reject_summary(self) -> pl.DataFrame:
        """The rejects counted by table, column and reason, with a first example and a hint how to parse such cells."""
        return self.summary.frame()

    def __missing__(self, query: object) -> pl.DataFrame:
        there = f"there are {', '.join(self)}" if self else "there are none"
        raise NoSuchAnswer(f"no answer {query!r}; {there}{did_you_mean(str(query), self)}")

    def __getattr__(self, name: str) -> pl.DataFrame:
        hint = f"; write answers[{name!r}]" if name in self else did_you_mean(name, [*self, "rejects", "questions"])
        raise AttributeError(f"Answers has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{query} ({_counted(frame.height, 'row')})" for query, frame in self.items())
        return f"<{_counted(len(self), 'answer')}: {sizes}{self._rejected('; ')}>"

    def _repr_html_(self) -> str:
        tables = [_section(query, self.questions.get(query, ""), frame) for query, frame in self.items()]
        took = "" if self.seconds is None else f" in {_duration(self.seconds)}"
        summary = f"{_counted(len(self), 'answer')}{took}{self._rejected(', ')}"
        return f"<div><p>{_escaped(summary)}</p>{''.join(tables)}{self._rejects_html()}{self._remarks_html()}</div>"

    def _rejected(self, before: str) -> str:
        return f"{before}{_counted(self.rejects.height, 'reject')}: see .rejects" if self.rejects.height else ""

    def _rejects_html(self) -> str:
        if self.rejects.is_empty():
            return ""
        return (
            f"<details><summary>{_counted(self.rejects.height, 'reject')}: values or rows that could not be read, and "
            "were left out of the answers that need them</summary><p><code>answers.rejects</code> holds the file, the "
            f"line, the column and the reason of each.</p>{_table(self.rejects, SHOWN_REJECTS)}</details>"
        )

    def _remarks_html(self) -> str:
        if not self.remarks:
            return ""
        lines = "".join(f"<li>{_escaped(remark)}</li>" for remark in self.remarks)
        counted = _counted(len(self.remarks), "remark")
        return f"<details><summary>{counted} about the files</summary><ul>{lines}</ul></details>"


def _escaped(text: str) -> str:
    # Only notebooks show HTML.
    from html import escape

    return escape(text)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook. IPython in a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _section(query: str, question: str, frame: pl.DataFrame) -> str:
    title = f"<b>{_escaped(query)}</b> {_escaped(question)}".rstrip()
    return f"<p style='margin-top:1em'>{title}</p>{_table(frame, SHOWN_ROWS)}"


def _table(frame: pl.DataFrame, rows: int) -> str:
    # Notebooks align all cells to the right.
    sides = ["right" if dtype.is_numeric() else "left" for dtype in frame.dtypes]
    names = "".join(map(_head, frame.columns, sides))
    body = "".join(f"<tr>{''.join(map(_cell, row, sides))}</tr>" for row in frame.head(rows).iter_rows())
    left = frame.height - rows
    more = f", {left:,} not shown" if left > 0 else ""
    counted = _counted(frame.height, "row")
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div style='overflow-x:auto'>{table}</div><p>{counted}{more}</p>"


def _head(name: str, side: str) -> str:
    return f"<th style='text-align:{side}'>{_escaped(name)}</th>"


def _cell(value: object, side: str) -> str:
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if len(text) > SHOWN_CHARACTERS:
        text = text[: SHOWN_CHARACTERS - 1] + "…"
    shape = "white-space:nowrap" if len(text) <= _NARROW_CHARACTERS else "min-width:20em"
    return f"<td style='text-align:{side};{shape}'>{_escaped(text)}</td>"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"
