"""Deaths on their way to the timeline: they wait a moment for their cause, and longer where nobody leads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cauce.doctor.acts import Act, Note
from cauce.doctor.keeper import Keeper
from cauce.doctor.lives import Life
from cauce.doctor.messages import Cause

REPORT_S = 0.3
"""How long to wait for a cause, which its parent alone knows."""


@dataclass
class _Death:
    life: Life
    cause: Cause
    since: float
    how: str
    after_s: float
    """How long after its last sign of life, where its end itself could not be seen."""


class Obituary:
    def __init__(self, keeper: Keeper, kept_s: float) -> None:
        self._keeper = keeper
        self._kept_s = kept_s
        self._deaths: list[_Death] = []
        self._held: list[Note] = []
        """What came after a death that waits for its cause: told after it."""

    def add(self, life: Life, cause: Cause, now: float, how: str) -> None:
        self._deaths.append(_Death(life, cause, now, how, now - life.last_sign()))

    def learn(self, life: Life, cause: Cause) -> None:
        """The cause of a death that is known already."""
        for each in self._deaths:
            if each.life is life and cause.known and not each.cause.known:
                each.cause = cause
                self._keeper.learn(life, cause)

    def publish(self, now: float) -> list[Act]:
        """By the leader. A delayed restart is noted here, since here the cause is known."""
        ready = [each for each in self._deaths if each.cause.known or now - each.since >= REPORT_S]
        self._deaths = [each for each in self._deaths if each not in ready]
        acts = [act for each in ready for act in self._notes(each)]
        held, self._held = self._held, []
        return [*acts, *self.in_turn(held, now)]

    def in_turn(self, acts: Iterable[Act], now: float) -> list[Act]:
        """The acts, without notes that must wait for those of a death before them."""
        waiting = {each.life.name for each in self._deaths}
        given: list[Act] = []
        for act in acts:
            if isinstance(act, Note) and act.name in waiting:
                self._held.append(act if act.at is not None else replace(act, at=now))
            else:
                given.append(act)
        return given

    def _notes(self, death: _Death) -> list[Act]:
        life, past = death.life, self._keeper.roster.past(death.life.name)
        if life.wanted_end:
            return [Note("left", life.name, life.incarnation, life.why, at=death.since)]
        died = Note("died", life.name, life.incarnation, past.why, death.cause.last, at=death.since)
        detected = Note("detected", life.name, life.incarnation, death.how, "", death.after_s, death.since)
        return [died, detected, *self._keeper.delayed(life.name, death.since)]

    def drop(self, now: float) -> None:
        """Old ones: the leader has told them, or died before it could."""
        self._deaths = [each for each in self._deaths if now - each.since < self._kept_s]
