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


class LogBody(msgspec.Struct, frozen=True):
    """The last lines of a process log."""

    name: str
    text: str
