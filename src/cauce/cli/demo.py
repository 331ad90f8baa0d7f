"""`cauce demo`: small data for the four datasets, all nineteen queries, and their answers."""

from __future__ import annotations

import time
from pathlib import Path

from cauce.cli.generate import generate_with_bar
from cauce.cli.main import cores
from cauce.cli.output import check_out, console
from cauce.cli.run import run_command
from cauce.datasets import BUILT_IN

FLIGHTS_SHARE = 0.1
"""The flights file is ten times as long as the others: a demo needs a tenth of it."""


def demo_command(out: Path, scale: float, seed: int) -> None:
    check_out(out)
    started = time.monotonic()
    for dataset in BUILT_IN:
        data = out / "data" / dataset
        console.rule(f"[bold]{dataset}", align="left")
        generate_with_bar(dataset, data, scale * (FLIGHTS_SHARE if dataset == "flights" else 1), seed)
        run_command(dataset, data, out / "answers" / dataset, [], "csv", cores(), cores(), "", [])
        console.print()
    seconds = time.monotonic() - started
    console.print(
        f"Nineteen queries answered in {seconds:.0f} s. Data in {out / 'data'}/, answers in {out / 'answers'}/."
    )
    console.print(
        "Next: ./cauce datasets, ./cauce explain books, ./cauce run books --data YOUR_FOLDER --out answers",
        soft_wrap=True,
    )
