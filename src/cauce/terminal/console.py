"""Output of commands: results on standard output, errors and progress on standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from cauce.api.formats import FORMATS, Format
from cauce.errors import CauceError, UsageError, unknown
from cauce.process.masking import masked_text
from cauce.process.private_files import too_wide

if TYPE_CHECKING:
    from rich.console import Console


OTHER_WIDTH = 80
"""Where there is no terminal."""


@cache
def console() -> Console:
    """Standard output. Created on first use, so that Rich is loaded only when there is something to print."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


@cache
def error_console() -> Console:
    """Standard error, created on first use."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def is_styled(stream: TextIO | None = None) -> bool:
    """Whether Rich must format a stream, the standard output by default, as on a terminal: with colours, or without
    lines of Unicode."""
    stream = stream or sys.stdout
    is_forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return bool(is_forced) or stream.isatty() or not (stream.encoding or "").lower().startswith("utf")


def width() -> int:
    """The width of the terminal, which is also that of an output elsewhere. As Rich determines it, and without loading
    it if there is nothing to style."""
    if is_styled():
        return console().width
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) else _terminal_width() or OTHER_WIDTH


def _terminal_width() -> int:
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        with suppress(AttributeError, ValueError, OSError):
            return os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
    return 0


def print_line(line: str) -> None:
    """Prints to standard output as it is and flushes, because programs may read the output while a command runs."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def print_json(value: object) -> None:
    print_line(msgspec.json.encode(value).decode())


def fail(problem: CauceError) -> None:
    from rich.text import Text

    error_console().print(
        Text.assemble(("error ", "bold red"), (f"[{problem.code}] ", "red"), masked_text(str(problem))), soft_wrap=True
    )


def warn(message: str) -> None:
    masked = masked_text(message)
    if print_plain_error(f"note {masked}"):
        return
    from rich.text import Text

    error_console().print(Text.assemble(("note ", "bold yellow"), masked), soft_wrap=True)


def print_plain_error(line: str) -> bool:
    """Prints a line to standard error without Rich, which takes longer to load than a small job. False, with nothing
    printed, if Rich has to style it, or prints some of its characters in another way."""
    if is_styled(sys.stderr) or "IPython" in sys.modules or not line.isprintable():
        return False
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
    return True


def warn_if_wide(folder: Path) -> None:
    """Warns if other users can access a directory that should be private: it may have existed before."""
    if (warning := too_wide(folder)) is not None:
        warn(warning)


def check_out(out: Path) -> None:
    """Raises unless `out` is a directory or can be created as one."""
    nearest = next((path for path in (out, *out.parents) if path.exists()), out)
    if nearest.exists() and not nearest.is_dir():
        raise UsageError(f"{nearest} is a file; --out expects a directory")


def format_of(form: str) -> Format:
    for known in FORMATS:
        if form == known:
            return known
    raise unknown("format", form, FORMATS)


def size(amount: int) -> str:
    """Formats a number of bytes with a unit."""
    number = Decimal(amount)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError
