"""`cauce generate`: writes synthetic files in the format of the real ones."""

from __future__ import annotations

import time
from pathlib import Path

from rich.progress import Progress

from cauce.datasets import BUILT_IN
from cauce.errors import UsageError, unknown
from cauce.terminal.console import check_out, console, error_console, size
from cauce.terminal.progress import bytes_columns, shown


def generate_command(dataset: str, out: Path, scale: float, seed: int) -> None:
    if dataset not in BUILT_IN:
        raise unknown("dataset", dataset, BUILT_IN)
    if scale <= 0:
        raise UsageError("--scale must be greater than 0; 1 is the size of the real files")
    check_out(out)
    started = time.monotonic()
    written = generate_with_bar(dataset, out, scale, seed)
    seconds = max(time.monotonic() - started, 1e-3)
    for name, amount in written.items():
        console().print(f"{out / name}  {size(amount)}", soft_wrap=True)
    total = sum(written.values())
    console().print(f"{dataset} at scale {scale:g}, seed {seed}: {size(total)}, {size(int(total / seconds))}/s")


def generate_with_bar(dataset: str, out: Path, scale: float, seed: int) -> dict[str, int]:
    from cauce.lab.generators import generate

    console = error_console()
    progress = Progress(*bytes_columns(console.width), console=console, disable=not console.is_terminal, transient=True)
    with shown(progress):
        task = progress.add_task(f"generating {dataset}", total=None)
        return generate(dataset, out, scale=scale, seed=seed, progress=lambda more: progress.update(task, advance=more))
