"""A doctor's core with a clock and messages controlled by the test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from cauce.doctor.heartbeat.schedule import HeartbeatReport
from cauce.doctor.model.actions import Action
from cauce.doctor.model.desired_state import RUNNING, WATCH, DesiredEntry, count_key
from cauce.doctor.model.messages import Cause, Epoch, Generation, Heartbeat, Message, ProcessIdentity
from cauce.doctor.model.names import Role
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.core import Core

Kind = TypeVar("Kind")
TIMING = Timing()


def only(acts: Iterable[Action], kind: type[Kind]) -> list[Kind]:
    return [act for act in acts if isinstance(act, kind)]


class DoctorHarness:
    """A single doctor, which is the leader unless other doctors are given."""

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
        who = ProcessIdentity(name, host, Generation(launch=1), 1, 1)
        self.core = Core(who, timing, self.time, dict.fromkeys(doctors, "here"), Epoch())
        self.acts: list[Action] = self.core.start(self.time, [])
        if counts is not None:
            entries = [DesiredEntry(count_key(role, at), str(count), 1, "x") for (role, at), count in counts.items()]
            self.desire(*entries, DesiredEntry(WATCH, watch, 1, "x"), DesiredEntry(RUNNING, "yes", 1, "x"))

    def desire(self, *entries: DesiredEntry) -> list[Action]:
        return self._keep(self.core.desired_changed(self.time, entries))

    def wait(self, seconds: float) -> list[Action]:
        acts: list[Action] = []
        for _ in range(max(round(seconds / 0.1), 1)):
            self.time += 0.1
            acts += self.core.tick(self.time, HeartbeatReport())
        return self._keep(acts)

    def receive(self, sender: str, message: Message, generation: Generation | None = None) -> list[Action]:
        return self._keep(
            self.core.receive(self.time, sender, generation or Generation(launch=1), f"at-{sender}", message)
        )

    def beat(self, name: str, generation: Generation, **more: object) -> list[Action]:
        instance = self.core.processes.find(name, generation)
        seq = instance.heartbeat.seq + 1 if instance is not None else 1
        given = {"host": self.core.who.host, "pid": 50, "start": 60, "seq": seq, **more}
        return self.receive(name, Heartbeat(generation=generation, **given), generation)  # type: ignore[arg-type]

    def crash(self, name: str, code: int = -9) -> list[Action]:
        """The newest instance of this name, a child of this doctor, exits with `code`."""
        instance = self.core.processes.newest(name)
        assert instance is not None
        return self._keep(self.core.exited(self.time, name, instance.generation, Cause(code)))

    def alive(self, name: str) -> bool:
        instance = self.core.processes.newest(name)
        return instance is not None and instance.alive

    def newest(self, name: str) -> Generation:
        instance = self.core.processes.newest(name)
        assert instance is not None
        return instance.generation

    def _keep(self, acts: list[Action]) -> list[Action]:
        self.acts += acts
        return acts
