"""Commands in messages, written as this program was called, so that users can paste them. Never shows a secret."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from cauce.process.masking import masked_address, masked_text

PROGRAM = "CAUCE_PROGRAM"
"""Set by the script `./cauce` to the path with which it was called."""
_SECRETS = {"--token": lambda _: "TOKEN", "--access-token": lambda _: "TOKEN", "--fabric": masked_address}
"""Options whose values are secrets, and functions that mask the values."""


def command(*words: str) -> str:
    """`cauce stop --dir x`, or `./cauce stop --dir x` in a clone."""
    return shlex.join([os.environ.get(PROGRAM) or "cauce", *words])


def same_command(arguments: Sequence[str] | None = None) -> str:
    """The current command, without tokens and without users and passwords in addresses."""
    return command(*without_secrets(sys.argv[1:] if arguments is None else arguments))


def without_secrets(arguments: Sequence[str]) -> list[str]:
    shown: list[str] = []
    before = ""
    for each in arguments:
        option, equals, value = each.partition("=")
        if before in _SECRETS:
            shown.append(_SECRETS[before](each))
        elif equals and option in _SECRETS:
            shown.append(f"{option}={_SECRETS[option](value)}")
        else:
            shown.append(masked_text(each))
        before = each
    return shown


def hide_secrets() -> None:
    """Removes secrets from the command line that `ps` shows for this process and its forks."""
    shown = without_secrets(sys.argv[1:])
    if shown != sys.argv[1:]:
        from setproctitle import setproctitle

        setproctitle(shlex.join(["cauce", *shown]))
