"""What commands say: results on standard output, errors and progress on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from cauce.errors import CauceError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from cauce.plan.outputs import Output

console = Console(highlight=False, soft_wrap=False)
errors = Console(stderr=True, highlight=False)


def fail(problem: CauceError) -> None:
    errors.print(Text.assemble(("error ", "bold red"), (f"[{problem.code}] ", "red"), str(problem)), soft_wrap=True)


def warn(message: str) -> None:
    errors.print(Text.assemble(("note ", "bold yellow"), message), soft_wrap=True)


def answer_table(title: str, head: pl.DataFrame, columns: Mapping[str, Output], rows: int) -> Group:
    """The first rows of an answer, printed as its CSV would print them."""
    table = Table(header_style="bold cyan", expand=False)
    texts = []
    for name, output in columns.items():
        right = head.schema[name].is_numeric()
        table.add_column(
            Text(name), justify="right" if right else "left", overflow="ellipsis", no_wrap=True, max_width=48
        )
        texts.append(output.text(head[name]).fill_null("").to_list())
    for row in zip(*texts, strict=True):
        table.add_row(*(Text(cell.replace("\n", "⏎")) for cell in row))
    more = rows - head.height
    table.caption = (
        "no rows" if rows == 0 else f"{rows:,} row{'s' * (rows != 1)}" + (f", {more:,} not shown" if more > 0 else "")
    )
    table.caption_justify = "left"
    # Not as the table's own title: that is broken at the width of the table, in the middle of a name if need be.
    return Group(Text(title, style="bold"), table)


def check_out(out: Path) -> None:
    """Raises unless `out` is a folder or can become one."""
    nearest = next((path for path in (out, *out.parents) if path.exists()), out)
    if nearest.exists() and not nearest.is_dir():
        raise UsageError(f"{nearest} is a file; --out names a folder")


def size(amount: int) -> str:
    """Bytes as people read them."""
    number = Decimal(amount)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError
