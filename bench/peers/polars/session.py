"""Shared by the queries: reading of files, Python literals, and one evaluation for all answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from bench.peers.literals import ESCAPED, NAMED, QUOTED
from bench.peers.task import Task


def scan(paths: str | Sequence[str], **columns: str) -> pl.LazyFrame:
    """Columns of text, each with our name for a header."""
    source = paths if isinstance(paths, str) else list(paths)
    # Rows with too few cells are padded with nulls, which every query filters out.
    frame = pl.scan_csv(source, infer_schema=False, truncate_ragged_lines=True)
    return frame.select(**{name: pl.col(header) for name, header in columns.items()})


def texts(column: str) -> pl.Expr:
    quoted = pl.col(column).str.extract_all(QUOTED)
    return quoted.list.eval(_bare(pl.element()))


def names(column: str) -> pl.Expr:
    named = pl.col(column).str.extract_all(NAMED)
    return named.list.eval(_bare(pl.element().str.strip_prefix("'name': ")))


def _bare(quoted: pl.Expr) -> pl.Expr:
    return quoted.str.head(-1).str.tail(-1).str.replace_all(ESCAPED, "${1}")


def write(task: Task, answers: Mapping[str, pl.LazyFrame]) -> None:
    asked = {query: frame for query, frame in answers.items() if task.asks(query)}
    for query, frame in zip(asked, pl.collect_all(list(asked.values()), engine="streaming"), strict=True):
        frame.write_csv(task.answer_file(query))
