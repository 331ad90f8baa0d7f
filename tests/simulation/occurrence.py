"""Whether simulated schedules meet all kinds of faults."""

from __future__ import annotations

from collections.abc import Iterable


def missing(kinds: Iterable[str], faults: Iterable[str]) -> set[str]:
    """The kinds that no fault contains. Faults are drawn only until all kinds have occurred."""
    left = set(kinds)
    for fault in faults:
        left -= {kind for kind in left if kind in fault}
        if not left:
            break
    return left
