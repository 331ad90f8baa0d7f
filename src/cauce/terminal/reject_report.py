"""Reports the rejects of a run: counts, an example for each reason, and how to declare such cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.terminal.console import error_console, print_plain_error, warn

if TYPE_CHECKING:
    import polars as pl

    from cauce.scan.reject_summary import RejectGroup, RejectSummary, TableRejects
    from cauce.scan.tables import TableSpec

MOST_SHOWN = 8
_RAW_SHOWN = 60
_BATCH_ROWS = 10_000


def report_rejects(summary: RejectSummary, kept_in: Path | None) -> None:
    """Prints to standard error: counts, the most frequent reasons, and the warnings last, where users see them."""
    if not summary:
        return
    where = "; with --out DIR, DIR/rejects.csv lists all of them" if kept_in is None else f", all listed in {kept_in}"
    warn(f"rejected {summary.sentence()}{where}")
    groups = list(summary.groups())
    for table, group in groups[:MOST_SHOWN]:
        first, *others = _lines(table, group)
        _print(first, 2)
        for line in others:
            _print(line, 4)
    if len(groups) > MOST_SHOWN:
        _print(f"and {len(groups) - MOST_SHOWN:,} more reasons", 2)
    for warning in summary.warnings():
        _print(f"warning {warning}", 0, "bold yellow")


def _print(line: str, indent: int, style: str = "") -> None:
    """Wraps the line between words on a terminal, and prints a single line elsewhere."""
    if print_plain_error(" " * indent + line):
        return
    from rich.padding import Padding
    from rich.text import Text

    console = error_console()
    if console.is_terminal:
        console.print(Padding(Text(line, style), (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent + line, style), soft_wrap=True)


def _lines(table: TableRejects, group: RejectGroup) -> Iterator[str]:
    counted = f"{group.cells:,} {'record' if group.column is None else 'cell'}{'s' * (group.cells != 1)}"
    where = table.spec.shown if group.column is None else f"{table.spec.shown}, column {group.column}"
    yield f"{where}: {counted}: {group.reason}"
    raw = group.raw if len(group.raw) <= _RAW_SHOWN else group.raw[:_RAW_SHOWN] + "…"
    yield f"such as {group.file} line {group.line}: {raw!r}"
    remedy = table.remedy(group)
    if remedy:
        yield remedy


def summary_of_file(
    path: Path, tables: Sequence[TableSpec], files: Mapping[str, str], rows: Mapping[str, int]
) -> RejectSummary:
    """Summarises a `rejects.csv`, read in batches. `files` maps each file to its table, `rows` each table to its number
    of records."""
    import polars as pl

    from cauce.scan.block import REJECT_SCHEMA
    from cauce.scan.reject_summary import RejectSummary

    summary = RejectSummary()
    by_name = {spec.name: spec for spec in tables}
    for name, spec in by_name.items():
        summary.add(spec, rows.get(name, 0), pl.DataFrame(schema=REJECT_SCHEMA))
    if not path.exists():
        return summary
    for batch in _batches(path):
        for (file,), found in batch.group_by("file", maintain_order=True):
            table = files.get(str(file), next(iter(by_name)))
            summary.add(by_name[table], 0, found)
    return summary


def _batches(path: Path) -> Iterator[pl.DataFrame]:
    import polars as pl

    from cauce.scan.block import REJECT_SCHEMA

    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8", newline="") as file:
        records = csv.reader(file)
        next(records)
        while batch := list(islice(records, _BATCH_ROWS)):
            rows = [(name, int(line), column or None, reason, raw) for name, line, column, reason, raw in batch]
            yield pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")
