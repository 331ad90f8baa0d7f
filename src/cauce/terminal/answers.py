"""Answers of a run or a job on standard output: the first rows of each, and one line about all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.terminal.console import console, size

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Group

    from cauce.plan import Dataset
    from cauce.plan.outputs import Output

SHOWN_ROWS = 5
SHORTEST_TEXT, LONGEST_TEXT = 8, 48
_SYMBOLS: dict[int, int | str] = {code: 0x2400 + code for code in range(32)}
_SYMBOLS |= {ord("\n"): "⏎", 127: "␡"} | dict.fromkeys(range(128, 160), "�")


def answers_text(dataset: Dataset, heads: Mapping[str, pl.DataFrame], rows: Mapping[str, int]) -> str:
    """The first rows of each answer, as `show_answer` prints them."""
    with console().capture() as captured:
        for query, count in rows.items():
            show_answer(dataset, query, heads[query], count)
    return captured.get()


def show_answer(dataset: Dataset, query: str, head: pl.DataFrame, rows: int) -> None:
    declared = dataset.queries[query]
    console().print(answer_table(f"{dataset.name}.{query}  {declared.question}", head, declared.columns, rows))
    console().print()


def show_summary(dataset: Dataset, queries: int, rows: int, read_bytes: int, seconds: float, out: Path | None) -> None:
    """`out`: where the files of the answers are, if they stay."""
    where = "" if out is None else f"; answers in {out}/"
    console().print(
        f"{dataset.name}: {queries} {'query' if queries == 1 else 'queries'} over {rows:,} rows, {size(read_bytes)}, "
        f"in {seconds:.1f} s{where}",
        soft_wrap=True,
    )


def answer_table(title: str, head: pl.DataFrame, columns: Mapping[str, Output], rows: int) -> Group:
    """Formats the first rows of an answer, with values as in its CSV file, and as many columns as fit."""
    from rich.cells import cell_len
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold cyan", expand=False)
    texts = {
        name: [printable(text) for text in output.text(head[name]).fill_null("")] for name, output in columns.items()
    }
    numbers = {name for name in columns if head.schema[name].is_numeric()}
    widths = {name: max(map(cell_len, [printable(name), *texts[name]])) for name in columns}
    # Numbers are never truncated; texts share the remaining width.
    shortest = {name: widths[name] if name in numbers else _shortest(name, widths[name]) for name in columns}
    shown = _columns_that_fit(shortest, console().width)
    available = console().width - sum(widths[name] for name in shown if name in numbers) - 3 * len(shown) - 1
    limit = _fitting([widths[name] for name in shown if name not in numbers], available)
    for name in shown:
        if name in numbers:
            table.add_column(Text(printable(name)), justify="right", no_wrap=True, min_width=widths[name])
        else:
            table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, max_width=max(limit, len(name)))
    for row in zip(*(texts[name] for name in shown), strict=True):
        table.add_row(*map(Text, row))
    # Not as the table's own title and caption: Rich wraps these at the width of the table, even within a name.
    counts = _counts(rows, rows - head.height, len(columns), len(columns) - len(shown))
    return Group(Text(title, style="bold"), table, Text(counts, style="dim italic"))


def printable(text: str) -> str:
    """Shows line ends and control characters as symbols: in a terminal they would move the cursor, or worse."""
    return text.translate(_SYMBOLS)


def _counts(rows: int, hidden_rows: int, columns: int, hidden_columns: int) -> str:
    text = "no rows" if rows == 0 else f"{rows:,} row{'s' * (rows != 1)}"
    if hidden_rows > 0:
        text += f", {hidden_rows:,} not shown"
    if hidden_columns:
        text += f"; {hidden_columns:,} of {columns:,} columns not shown"
    return text


def _shortest(name: str, width: int) -> int:
    """The width that a column of texts needs at least: its name is never truncated."""
    return min(width, max(SHORTEST_TEXT, len(name)))


def _columns_that_fit(widths: Mapping[str, int], available: int) -> list[str]:
    """Returns the first columns that fit beside each other, but at least one."""
    shown: list[str] = []
    used = 1
    for name, width in widths.items():
        used += width + 3
        if shown and used > available:
            break
        shown.append(name)
    return shown


def _fitting(widths: list[int], available: int) -> int:
    """Returns the largest column width limit with which all columns fit, but at least SHORTEST_TEXT."""
    for limit in range(LONGEST_TEXT, SHORTEST_TEXT, -1):
        if sum(min(width, limit) for width in widths) <= available:
            return limit
    return SHORTEST_TEXT
