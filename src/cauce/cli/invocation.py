"""The commands that messages tell a person to run: as this one was called, so that they can be pasted."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence

PROGRAM = "CAUCE_PROGRAM"
"""Set by the script `./cauce` to the path it was called by."""
_PASSWORD = re.compile(r"(://[^:@/\s]*:)[^@/\s]+@")


def command(*words: str) -> str:
    """`cauce stop --dir x`, or `./cauce stop --dir x` in a clone."""
    return shlex.join([os.environ.get(PROGRAM) or "cauce", *words])


def same_command(arguments: Sequence[str] | None = None) -> str:
    """The command that runs now, without tokens and without the password of a broker's address."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--token" in given[:-1]:
        given[given.index("--token") + 1] = "TOKEN"
    shown = [_PASSWORD.sub(r"\1PASSWORD@", re.sub("^--token=.*", "--token=TOKEN", each)) for each in given]
    return command(*shown)
