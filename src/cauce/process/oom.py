"""OOM scores: when memory runs out, the kernel kills workers before gateways, and both before doctors, which restart
the others."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

WORKER, GATEWAY = 500, 200
"""On the kernel's scale up to 1000."""
_ORIGINAL = "CAUCE_OOM_SCORE_ADJ"
"""Environment variable with the original score, for a process that a worker starts and that is not a worker."""
_PATH = Path("/proc/self/oom_score_adj")


def raise_oom_score(score: int) -> None:
    """Raises the score of this process and of its children; never lowers it. Needs no privilege."""
    with suppress(OSError, ValueError):
        before = int(_PATH.read_text())
        os.environ.setdefault(_ORIGINAL, str(before))
        if before < score:
            _PATH.write_text(str(score))


def restore_oom_score() -> None:
    """Restores the score from before the parent raised it, as far as the kernel allows."""
    before = os.environ.pop(_ORIGINAL, None)
    if before is not None:
        with suppress(OSError):
            _PATH.write_text(before)
