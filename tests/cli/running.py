"""Runs the command line as a user does, in a process of its own whose output is not a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.rows import book, books_folder, review

TIMEOUT_S = 300
COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that ask for colours on anything; a test run under one of them must not fail for it."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def cauce(folder: Path, *arguments: str) -> Outcome:
    environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
    done = subprocess.run(
        [sys.executable, "-m", "cauce", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def written(folder: Path) -> list[str]:
    """Everything below a folder, hidden files too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def small_books(data: Path) -> None:
    """Books with rows for q1 and q3, and one reject."""
    books_folder(
        data,
        [
            book("Distributed [bold]systems[/bold]", "2001", categories="['Computers']"),
            book("T", "1995", "['A', 'B']"),
            book("U", "1995", "nobody"),
        ],
        [review("T", "4")] * 500,
    )
