"""What a fabric found wrong when it was opened and can live with. Told once in a process, whatever number of threads
open one; to nobody, unless somebody has asked to be told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from cauce.broker.finding import Finding

Tell = Callable[[Sequence[Finding]], None]

_turn = threading.Lock()
_tell: Tell | None = None


def listen(tell: Tell | None) -> None:
    """From now on, in this process. Who was forked from it asks anew, and is told anew."""
    global _tell
    with _turn:
        _tell = tell


def notice(wrong: Sequence[Finding]) -> None:
    """Tells it to who listens, who then listens no longer."""
    global _tell
    if not wrong:
        return
    with _turn:
        tell, _tell = _tell, None
    if tell is not None:
        tell(wrong)
