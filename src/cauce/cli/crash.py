"""The last resort of the command line: an error that no command expected is reported in one line, and the terminal is
left as it was found."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path

SHOW_CURSOR, LEAVE_ALTERNATE_SCREEN = "\x1b[?25h", "\x1b[?1049l"


def crashed(problem: Exception) -> None:
    """Prints one line about `problem` and keeps its traceback in a file, which the line names."""
    restore_terminal()
    where = _keep(problem)
    reason = " ".join(str(problem).split()) or "no message"
    hint = f"; details are in {where}" if where else ""
    line = f"error [internal] {type(problem).__name__}: {reason[:300]} (this is a bug in Cauce{hint})"
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        pass


def restore_terminal() -> None:
    """Undoes what progress bars and full-screen views do to a terminal that understands them."""
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


def _keep(problem: Exception) -> Path | None:
    """Writes the traceback into a new file; None where there is no room for one."""
    try:
        handle, name = tempfile.mkstemp(prefix="cauce-error-", suffix=".txt")
        with os.fdopen(handle, "w") as file:
            file.writelines(traceback.format_exception(problem))
    except OSError:
        return None
    return Path(name)
