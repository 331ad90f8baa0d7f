"""A doctor's core with a clock and messages in a test's hands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from cauce.doctor.acts import Act
from cauce.doctor.core import Core, Self
from cauce.doctor.desired import RUNNING, WATCH, Wish, count_key
from cauce.doctor.messages import Beat, Cause, Epoch, Incarnation, Message
from cauce.doctor.names import Role
from cauce.doctor.patient import Facts
from cauce.doctor.timing import Timing

Kind = TypeVar("Kind")
TIMING = Timing()


def only(acts: Iterable[Act], kind: type[Kind]) -> list[Kind]:
    return [act for act in acts if isinstance(act, kind)]


class One:
    """It leads, unless told otherwise: there is no other doctor."""

    def __init__(
        self,
        counts: dict[tuple[Role, str], int] | None = None,
        *,
        name: str = "doctor-1",
        host: str = "",
        doctors: Iterable[str] = ("doctor-1",),
        watch: str = "star",
        timing: Timing = TIMING,
    ) -> None:
        self.time = 100.0
        who = Self(name, host, Incarnation(launch=1), 1, 1)
        self.core = Core(who, timing, self.time, dict.fromkeys(doctors, "here"), Epoch())
        self.acts: list[Act] = self.core.start(self.time, [])
        if counts is not None:
            wishes = [Wish(count_key(role, at), str(count), 1, "x") for (role, at), count in counts.items()]
            self.wish(*wishes, Wish(WATCH, watch, 1, "x"), Wish(RUNNING, "yes", 1, "x"))

    def wish(self, *wishes: Wish) -> list[Act]:
        return self._keep(self.core.wished(self.time, wishes))

    def wait(self, seconds: float) -> list[Act]:
        acts: list[Act] = []
        for _ in range(max(round(seconds / 0.1), 1)):
            self.time += 0.1
            acts += self.core.tick(self.time, Facts())
        return self._keep(acts)

    def hear(self, sender: str, message: Message, incarnation: Incarnation | None = None) -> list[Act]:
        return self._keep(
            self.core.hear(self.time, sender, incarnation or Incarnation(launch=1), f"at-{sender}", message)
        )

    def beat(self, name: str, incarnation: Incarnation, **more: object) -> list[Act]:
        life = self.core.roster.find(name, incarnation)
        seq = life.seq + 1 if life is not None else 1
        given = {"host": self.core.who.host, "pid": 50, "start": 60, "seq": seq, **more}
        return self.hear(name, Beat(incarnation=incarnation, **given), incarnation)  # type: ignore[arg-type]

    def die(self, name: str, code: int = -9) -> list[Act]:
        """The newest life of this name, of this host and known to be our child's."""
        life = self.core.roster.newest(name)
        assert life is not None
        return self._keep(self.core.exited(self.time, name, life.incarnation, Cause(code)))

    def alive(self, name: str) -> bool:
        life = self.core.roster.newest(name)
        return life is not None and life.alive

    def newest(self, name: str) -> Incarnation:
        life = self.core.roster.newest(name)
        assert life is not None
        return life.incarnation

    def _keep(self, acts: list[Act]) -> list[Act]:
        self.acts += acts
        return acts
