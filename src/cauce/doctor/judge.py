"""How a process fares: what is known of a life, and the time, make a verdict. It looks at nothing and does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cauce.doctor.lives import Life
from cauce.doctor.timing import Timing


class State(Enum):
    STARTING = "starting"
    HEALTHY = "running"
    PAUSED = "paused"
    HUNG = "hung"
    LOST = "lost"
    """Its host cannot be reached; whether it lives is not known."""
    ENDING = "ending"
    DEAD = "dead"


@dataclass(frozen=True)
class Verdict:
    state: State
    treat: bool = False
    """Whether something is to be done about it now."""
    why: str = ""


def judge(life: Life, now: float, timing: Timing, reached: float, since: float = 0.0) -> Verdict:
    """`reached` is when a doctor of its host was last heard, for the own host now; `since`, from when on it was."""
    if not life.alive:
        return Verdict(State.DEAD)
    quiet = now - life.last_sign()
    if now - reached > timing.lost and (quiet > timing.lost or life.suspected):
        return Verdict(State.LOST, True, f"neither it nor a doctor of its host was heard for {quiet:.0f} s")
    if life.ending is not None:
        return Verdict(State.ENDING, why=life.why)
    if life.stopped is not None:
        stopped = now - life.stopped
        return Verdict(State.PAUSED, stopped > timing.paused, f"it was stopped by a signal for {stopped:.0f} s")
    quiet = now - max(life.last_sign(), since)
    if life.heard is None:
        late = quiet > timing.start
        return Verdict(State.HUNG if late else State.STARTING, late, f"it gave no sign of life {quiet:.0f} s long")
    if quiet > timing.hung:
        return Verdict(State.HUNG, True, f"its loop gave no sign of life for {quiet:.0f} s{_at(life)}")
    stuck = now - max(life.progressed, since)
    if life.busy and stuck > timing.hung:
        return Verdict(State.HUNG, True, f"it has work and made no progress for {stuck:.0f} s{_at(life)}")
    return Verdict(State.HEALTHY)


def _at(life: Life) -> str:
    return f", at {life.work}" if life.work else ""
