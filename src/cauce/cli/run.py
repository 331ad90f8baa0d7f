"""`cauce run`: answers queries over the files in a folder and shows them."""

from __future__ import annotations

import time
from pathlib import Path

from cauce.cli.output import answer_table, check_out, console, size, warn
from cauce.cli.progress import Bars
from cauce.datasets import load
from cauce.errors import UnknownName, UsageError
from cauce.plan import Dataset
from cauce.wire.formats import FORMATS, Format
from cauce.worker.job import REJECTS, Folder, prepare, run_to_folder
from cauce.worker.local import Settings

SHOWN_ROWS = 5


def run_command(
    dataset: str,
    data: Path,
    out: Path,
    queries: list[str],
    form: str,
    partitions: int,
    threads: int,
    sentiment: str,
    params: list[str],
) -> None:
    chosen = load(dataset)
    checked = _format(form)
    parameters = parameters_of(chosen, sentiment, params)
    prepared = prepare(chosen, data, queries, parameters, partitions)
    check_out(out)
    started = time.monotonic()
    with Bars(prepared.bytes) as bars:
        sink = run_to_folder(
            prepared, out, checked, keep_rows=SHOWN_ROWS, settings=Settings(threads=threads), watch=bars
        )
    show(chosen, sink)
    seconds = time.monotonic() - started
    console.print(
        f"{chosen.name}: {len(sink.rows)} queries over {sum(bars.rows.values()):,} rows, {size(bars.bytes)}, "
        f"in {seconds:.1f} s; answers in {out}/"
    )
    if sink.reject_spool.count:
        rows = sink.reject_spool.count
        warn(f"{rows:,} reject{'s' * (rows != 1)}: see {out / REJECTS}")


def show(dataset: Dataset, sink: Folder) -> None:
    for query, rows in sink.rows.items():
        declared = dataset.queries[query]
        title = f"{dataset.name}.{query}  {declared.question}"
        console.print(answer_table(title, sink.heads[query], declared.columns, rows))
        console.print()


def parameters_of(dataset: Dataset, sentiment: str, params: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for param in params:
        name, equals, value = param.partition("=")
        if not equals:
            raise UsageError(f"--param {param} has no value; write it as name=value")
        given[name] = value
    if sentiment:
        if "sentiment" not in [parameter.name for parameter in dataset.parameters]:
            raise UnknownName(f"{dataset.name} scores no texts: leave --sentiment out")
        given["sentiment"] = sentiment
    return given


def _format(form: str) -> Format:
    for known in FORMATS:
        if form == known:
            return known
    raise UsageError(f"--format cannot be {form!r}; it can be {', '.join(FORMATS)}")
