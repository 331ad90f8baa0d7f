"""What jobs, logs, queues and tasks may be called, so that any fabric can make files or queues of it."""

from __future__ import annotations

import re

from cauce.errors import FabricError

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def check_name(what: str, name: str) -> str:
    """Names become names of files: nothing in them may lead elsewhere."""
    if not _NAME.fullmatch(name):
        raise FabricError(
            f"{name!r} cannot name a {what}: use 1 to 100 letters, digits, dots, hyphens or underscores, "
            "and no dot at the beginning"
        )
    return name


def shelf_of(log: str) -> str:
    """What stands before the first dot. A log without one is a shelf of its own."""
    return log.partition(".")[0]
