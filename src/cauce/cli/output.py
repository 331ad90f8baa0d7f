"""What commands say: results on standard output, errors and progress on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.errors import CauceError, UsageError, unknown
from cauce.wire import FORMATS, Format

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, Group

    from cauce.plan.outputs import Output

SHORTEST_TEXT, LONGEST_TEXT = 8, 48


@cache
def console() -> Console:
    """Standard output. Built at the first use: Rich is loaded only when there is something to print."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


@cache
def error_console() -> Console:
    """Standard error, built at the first use."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def fail(problem: CauceError) -> None:
    from rich.text import Text

    error_console().print(
        Text.assemble(("error ", "bold red"), (f"[{problem.code}] ", "red"), str(problem)), soft_wrap=True
    )


def warn(message: str) -> None:
    from rich.text import Text

    error_console().print(Text.assemble(("note ", "bold yellow"), message), soft_wrap=True)


def answer_table(title: str, head: pl.DataFrame, columns: Mapping[str, Output], rows: int) -> Group:
    """The first rows of an answer, printed as its CSV would print them."""
    from rich.cells import cell_len
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold cyan", expand=False)
    texts = {
        name: [text.replace("\n", "⏎") for text in output.text(head[name]).fill_null("")]
        for name, output in columns.items()
    }
    numbers = {name for name in columns if head.schema[name].is_numeric()}
    widths = {name: max(map(cell_len, [name, *texts[name]])) for name in columns}
    # Numbers are shown whole; texts share what room is left.
    room = console().width - sum(widths[name] for name in numbers) - 3 * len(columns) - 1
    limit = _fitting([widths[name] for name in columns if name not in numbers], room)
    for name in columns:
        if name in numbers:
            table.add_column(Text(name), justify="right", no_wrap=True, min_width=widths[name])
        else:
            table.add_column(Text(name), overflow="ellipsis", no_wrap=True, max_width=max(limit, len(name)))
    for row in zip(*texts.values(), strict=True):
        table.add_row(*map(Text, row))
    more = rows - head.height
    table.caption = (
        "no rows" if rows == 0 else f"{rows:,} row{'s' * (rows != 1)}" + (f", {more:,} not shown" if more > 0 else "")
    )
    table.caption_justify = "left"
    # Not as the table's own title: that is broken at the width of the table, in the middle of a name if need be.
    return Group(Text(title, style="bold"), table)


def _fitting(widths: list[int], room: int) -> int:
    """The largest width that no column may exceed so that all of them fit; a few characters at least."""
    for limit in range(LONGEST_TEXT, SHORTEST_TEXT, -1):
        if sum(min(width, limit) for width in widths) <= room:
            return limit
    return SHORTEST_TEXT


def check_out(out: Path) -> None:
    """Raises unless `out` is a folder or can become one."""
    nearest = next((path for path in (out, *out.parents) if path.exists()), out)
    if nearest.exists() and not nearest.is_dir():
        raise UsageError(f"{nearest} is a file; --out expects a directory")


def format_of(form: str) -> Format:
    for known in FORMATS:
        if form == known:
            return known
    raise unknown("format", form, FORMATS)


def size(amount: int) -> str:
    """Bytes as people read them."""
    number = Decimal(amount)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError
