"""`cauce datasets`: lists the built-in datasets with their tables, files, queries and parameters."""

from __future__ import annotations

from rich.text import Text

from cauce.datasets import BUILT_IN, load
from cauce.terminal.console import console


def list_datasets() -> None:
    for name in BUILT_IN:
        dataset = load(name)
        console().print(Text(name, style="bold cyan"))
        width = max(len(table.spec.name) for table in dataset.tables)
        for table in dataset.tables:
            files = " or ".join(table.spec.files)
            console().print(f"  {table.spec.name:<{width}}  {files}", soft_wrap=True)
        for query in dataset.queries.values():
            columns = ", ".join(query.columns)
            console().print(
                Text.assemble("  ", (query.name, "bold"), f"  {query.question}  ", (f"({columns})", "dim")),
                soft_wrap=True,
            )
        for parameter in dataset.parameters:
            console().print(f"  --{parameter.name} {'|'.join(parameter.choices)}  {parameter.help}", soft_wrap=True)
        console().print()
    console().print(
        "Files may be .csv, .tsv, .ndjson or .jsonl, also compressed (.gz, .zst), or .parquet. "
        "A dataset of your own: see docs/own-datasets.md."
    )
