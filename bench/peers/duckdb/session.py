"""A connection with the functions that queries share: reading of files, Python literals, scoring of texts."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
from duckdb.func import PythonUDFType

from bench.peers.literals import ESCAPED, NAMED, QUOTED
from bench.peers.task import Task

Connection = duckdb.DuckDBPyConnection

BUFFER_BYTES = 128_000_000
"""With its own buffers, DuckDB refuses or misreads some files whose quoted texts hold line ends: larger ones help."""


def connect(task: Task) -> Connection:
    connection = duckdb.connect(config={"threads": task.threads})
    unquoted = f"lambda x: regexp_replace(x[2:-2], {_text(ESCAPED)}, '\\1', 'g')"
    connection.execute(f"""
        CREATE MACRO texts(literal) AS list_transform(regexp_extract_all(literal, {_text(QUOTED)}), {unquoted});
        CREATE MACRO names(literal) AS list_transform(regexp_extract_all(literal, {_text(NAMED)}, 1), {unquoted});
    """)
    return connection


def add_scorer(connection: Connection, task: Task) -> None:
    """`score(text)`: a function of whole Arrow arrays."""
    # Imported only here: other queries do not need them.
    import polars as pl

    # Without annotations, which DuckDB would evaluate.
    score = lambda texts: task.scorer(pl.Series(pl.from_arrow(texts))).to_arrow()  # noqa: E731
    connection.create_function("score", score, ["VARCHAR"], "INTEGER", type=PythonUDFType.ARROW)


def csv(paths: str | Sequence[str], *, lenient: bool = True, options: str = "") -> str:
    """A table of texts, for a FROM clause. If lenient, rows with too many or too few cells are left out; but in a
    large file whose texts hold line ends, DuckDB then also drops valid rows, without a warning."""
    files = [paths] if isinstance(paths, str) else paths
    listed = ", ".join(map(_text, files))
    return f"""read_csv([{listed}], header = true, all_varchar = true, delim = ',', quote = '"', escape = '"',
        ignore_errors = {str(lenient).lower()}, buffer_size = {BUFFER_BYTES}{options})"""


def write(connection: Connection, task: Task, queries: dict[str, str]) -> None:
    for query, text in queries.items():
        if task.asks(query):
            connection.execute(f"COPY ({text}) TO {_text(task.answer_file(query))} (HEADER)")


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
