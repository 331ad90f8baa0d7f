"""Reports an unexpected exception in one line, saves its traceback to a file, and restores the terminal."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path

from cauce.process.masking import masked_text

SHOW_CURSOR, LEAVE_ALTERNATE_SCREEN = "\x1b[?25h", "\x1b[?1047l"
"""Not 1049: on the main screen that would move the cursor to a position saved before, over earlier lines."""


def crashed(problem: Exception) -> None:
    """Prints one line about `problem`. The line names the file that holds the traceback."""
    restore_terminal()
    where = _save_traceback(problem)
    reason = masked_text(" ".join(str(problem).split())) or "no message"
    hint = f"; details are in {where}" if where else ""
    line = f"error [internal] {type(problem).__name__}: {reason[:300]} (this is a bug in Cauce{hint})"
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        pass


def restore_terminal() -> None:
    """Shows the cursor and leaves the alternate screen, which progress bars and full-screen views may have changed."""
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        return
    for stream in (sys.stderr, sys.stdout):
        try:
            if stream.isatty():
                stream.write(LEAVE_ALTERNATE_SCREEN + SHOW_CURSOR)
                stream.flush()
                return
        except (OSError, ValueError):
            continue


def _save_traceback(problem: Exception) -> Path | None:
    """Writes the traceback to a new file and returns its path, or None if it cannot be written."""
    try:
        handle, name = tempfile.mkstemp(prefix="cauce-error-", suffix=".txt")
        with os.fdopen(handle, "w") as file:
            file.write(masked_text("".join(traceback.format_exception(problem))))
    except OSError:
        return None
    return Path(name)
