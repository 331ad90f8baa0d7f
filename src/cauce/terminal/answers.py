"""Answers of a run or a job on standard output: the first rows of each, and one line about all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.terminal.console import console, is_styled, print_line, size, width

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Group

    from cauce.plan import Dataset
    from cauce.plan.outputs import Output

SHOWN_ROWS = 5
SHORTEST_TEXT, LONGEST_TEXT = 8, 48
_NARROW = re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u2010-\u2027]*")
"""Letters of Latin, Greek and Cyrillic, signs beside them, and punctuation."""
_WORD = re.compile(r"\s*\S+\s*")
_SYMBOLS: dict[int, int | str] = {code: 0x2400 + code for code in range(32)}
_SYMBOLS |= {ord("\n"): "⏎", 127: "␡"} | dict.fromkeys(range(128, 160), "�")


def answers_text(dataset: Dataset, heads: Mapping[str, pl.DataFrame], rows: Mapping[str, int]) -> str:
    """The first rows of each answer, as `show_answer` prints them."""
    return "".join(_text(_table(dataset, query, heads[query], count)) + "\n" for query, count in rows.items())


def show_answer(dataset: Dataset, query: str, head: pl.DataFrame, rows: int) -> None:
    print_line(_text(_table(dataset, query, head, rows)))


def show_summary(dataset: Dataset, queries: int, rows: int, read_bytes: int, seconds: float, out: Path | None) -> None:
    """`out`: where the files of the answers are, if they stay."""
    where = "" if out is None else f"; answers in {out}/"
    print_line(
        f"{dataset.name}: {queries} {'query' if queries == 1 else 'queries'} over {rows:,} rows, {size(read_bytes)}, "
        f"in {seconds:.1f} s{where}"
    )


def _table(dataset: Dataset, query: str, head: pl.DataFrame, rows: int) -> AnswerTable:
    declared = dataset.queries[query]
    return AnswerTable.of(f"{dataset.name}.{query}  {declared.question}", head, declared.columns, rows)


def _text(table: AnswerTable) -> str:
    if not is_styled() and table.is_plain():
        return table.plain_text()
    with console().capture() as captured:
        console().print(table.styled())
    return captured.get()


@dataclass(frozen=True)
class Column:
    name: str
    texts: Sequence[str]
    is_number: bool
    width: int
    """Of its longest text, or its name."""

    @property
    def shortest(self) -> int:
        """The width that it needs at least: numbers are never truncated, names only if they are very long."""
        return self.width if self.is_number else min(self.width, max(SHORTEST_TEXT, len(self.name)))


@dataclass(frozen=True)
class AnswerTable:
    """The first rows of an answer, with values as in its CSV file, and as many columns as fit."""

    title: str
    columns: Sequence[Column]
    counts: str
    limit: int
    """The width at which texts are truncated."""
    available: int
    """The width of the terminal."""

    @classmethod
    def of(cls, title: str, head: pl.DataFrame, columns: Mapping[str, Output], rows: int) -> AnswerTable:
        available = width()
        all_columns = [_column(name, head, output, available - 4) for name, output in columns.items()]
        shown = all_columns[: _count_that_fits([each.shortest for each in all_columns], available)]
        # Numbers are never truncated; texts share the remaining width.
        rest = available - sum(each.width for each in shown if each.is_number) - 3 * len(shown) - 1
        limit = _fitting([each.width for each in shown if not each.is_number], rest)
        counts = _counts(rows, rows - head.height, len(columns), len(columns) - len(shown))
        return cls(title, shown, counts, limit, available)

    def styled(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(header_style="bold cyan", expand=False)
        for each in self.columns:
            if each.is_number:
                table.add_column(Text(each.name), justify="right", no_wrap=True, min_width=each.width)
            else:
                longest = max(self.limit, len(each.name))
                table.add_column(Text(each.name), overflow="ellipsis", no_wrap=True, max_width=longest)
        for row in zip(*(each.texts for each in self.columns), strict=True):
            table.add_row(*map(Text, row))
        # Not as the table's own title and caption: Rich wraps these at the width of the table, even within a name.
        return Group(Text(self.title, style="bold"), table, Text(self.counts, style="dim italic"))

    def is_plain(self) -> bool:
        """Whether `plain_text` is what Rich would print: all characters are one column wide, and only the title wraps,
        between words."""
        texts = [self.title, self.counts, *(text for each in self.columns for text in (each.name, *each.texts))]
        whole = sum(self._widths()) + 3 * len(self.columns) + 1
        longest = max(whole, *map(len, self.title.split()), len(self.counts))
        return longest <= self.available and all(map(_is_narrow, texts))

    def plain_text(self) -> str:
        """The same as `styled`, without Rich: loading it takes longer than a small answer."""
        widths = self._widths()
        lines = [
            *_wrapped(self.title, self.available),
            _rule("┏━┳┓", widths),
            _row("┃", widths, [self._cell(each, each.name) for each in self.columns]),
        ]
        lines.append(_rule("┡━╇┩", widths))
        for row in zip(*(each.texts for each in self.columns), strict=True):
            lines.append(_row("│", widths, [self._cell(*cell) for cell in zip(self.columns, row, strict=True)]))
        return "\n".join([*lines, _rule("└─┴┘", widths), self.counts, ""])

    def _widths(self) -> list[int]:
        return [each.width if each.is_number else min(each.width, self._longest(each)) for each in self.columns]

    def _longest(self, column: Column) -> int:
        return max(self.limit, len(column.name))

    def _cell(self, column: Column, text: str) -> str:
        if column.is_number:
            return text.rjust(column.width)
        longest = self._longest(column)
        return text if len(text) <= longest else text[: longest - 1] + "…"


def _rule(parts: str, widths: Sequence[int]) -> str:
    """`parts`: the left corner, the line, a crossing, the right corner."""
    return parts[0] + parts[2].join(parts[1] * (each + 2) for each in widths) + parts[3]


def _row(edge: str, widths: Sequence[int], cells: Sequence[str]) -> str:
    return edge + edge.join(f" {cell.ljust(each)} " for each, cell in zip(widths, cells, strict=True)) + edge


def _column(name: str, head: pl.DataFrame, output: Output, available: int) -> Column:
    texts = [printable(text) for text in output.text(head[name]).fill_null("")]
    shown = _truncated(printable(name), max(min(LONGEST_TEXT, available), 1))
    return Column(shown, texts, head.schema[name].is_numeric(), max(map(_cells, [shown, *texts])))


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if _is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _is_narrow(text: str) -> bool:
    """Whether all characters are known to take one column."""
    return text.isprintable() and _NARROW.fullmatch(text) is not None


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words, each with the blanks after it. No word is longer than a line."""
    lines = [""]
    for word in _WORD.findall(text):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line[:width] for line in lines]


def _truncated(text: str, most: int) -> str:
    if _cells(text) <= most:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, most - 1).rstrip() + "…"


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


def _count_that_fits(widths: Sequence[int], available: int) -> int:
    """Returns how many of the first columns fit beside each other, but at least one."""
    used = 1
    for number, each in enumerate(widths):
        used += each + 3
        if number and used > available:
            return number
    return len(widths)


def _fitting(widths: list[int], available: int) -> int:
    """Returns the largest column width limit with which all columns fit, but at least SHORTEST_TEXT."""
    for limit in range(LONGEST_TEXT, SHORTEST_TEXT, -1):
        if sum(min(width, limit) for width in widths) <= available:
            return limit
    return SHORTEST_TEXT
