"""Messages about the processes of a service that only the dashboard uses."""

from __future__ import annotations

from typing import Literal

import msgspec


class WorkersBody(msgspec.Struct, frozen=True):
    """The desired state of the workers."""

    running: Literal[True]


class StartedBody(msgspec.Struct, frozen=True):
    """The workers that are being started."""

    workers: list[str]


class ProcessBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The desired state of one process."""

    running: bool


class ProcessChangedBody(msgspec.Struct, frozen=True):
    """The process that is being started or stopped."""

    name: str
    running: bool


class LogBody(msgspec.Struct, frozen=True):
    """The last lines of a process log; of a search, the last lines that contain its text. `matches` counts all of
    those in the `searched_bytes` at the end of the log."""

    name: str
    text: str
    matches: int | None = None
    searched_bytes: int = 0
