"""`cauce demo`: generates small data for the four datasets and answers all nineteen queries; `--serve` also starts a
service."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from cauce.cli.lab.generate import generate_with_bar
from cauce.cli.options import FileOptions, QueryOptions, RunOptions
from cauce.cli.run import run_command
from cauce.datasets import BUILT_IN
from cauce.terminal.console import check_out, console
from cauce.terminal.invocation import command

NEXT = (("demo", "--serve"), ("schema", "YOUR_DIRECTORY"), ("sql", "SELECT …", "--data", "YOUR_DIRECTORY"))
FLIGHTS_SHARE = 0.1
"""The flights file is ten times as long as the others: a demo needs a tenth of it."""


def demo_command(out: Path, scale: float, seed: int) -> None:
    seconds = answer_all(out, scale, seed)
    console().print(
        f"Nineteen queries answered in {seconds:.0f} s. Data in {out / 'data'}/, answers in {out / 'answers'}/.",
        soft_wrap=True,
    )
    console().print(
        "Next: " + ", ".join(command(*each) for each in NEXT),
        soft_wrap=True,
    )


def answer_all(out: Path, scale: float, seed: int) -> float:
    """Generates the data and answers every query. Returns the duration in seconds."""
    check_out(out)
    started = time.monotonic()
    for dataset in BUILT_IN:
        data = out / "data" / dataset
        console().rule(f"[bold]{dataset}", align="left")
        generate_with_bar(dataset, data, scale * (FLIGHTS_SHARE if dataset == "flights" else 1), seed)
        files = FileOptions(data=data, out=out / "answers" / dataset)
        run_command(files, QueryOptions(dataset=dataset), RunOptions())
        console().print()
    return time.monotonic() - started


def demo_serve_command(out: Path, scale: float, seed: int, port: int, kill_every_s: float) -> None:
    from cauce.cli.lab.demo_service import serve_demo

    answer_all(out, scale, seed)
    if not serve_demo(out, port, kill_every_s, seed):
        raise typer.Exit(1)
