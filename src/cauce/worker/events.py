"""What a nursery tells of its workers, and the codes they end with. Light, so that a run can start others early."""

from __future__ import annotations

import msgspec

EXIT_FAILED, EXIT_FULL, EXIT_OLD, EXIT_TWIN = 70, 74, 75, 76

GRACE_S = 4.0
"""How long a step may go on after the signal to stop. What it leaves undone is done by the next holder."""


class Event(msgspec.Struct, frozen=True):
    """What happened to a worker: started, or died (by a signal, or with an exit code)."""

    what: str
    worker: int
    pid: int
    signal: int = 0
    code: int = 0
