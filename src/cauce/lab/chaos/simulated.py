"""A simulated network and simulated processes, as plain values; `simulated_cluster` runs them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.doctor.heartbeat.schedule import HeartbeatSchedule
from cauce.doctor.model.messages import Generation, Message, ProcessIdentity
from cauce.doctor.supervision.core import Core

NEVER = float("inf")


@dataclass
class Net:
    """The faults of the network. `cut` returns whether two hosts are partitioned."""

    rng: random.Random
    loss: float = 0.0
    double: float = 0.0
    delay_s: tuple[float, float] = (0.0005, 0.004)
    cut: Callable[[str, str], bool] = lambda _sender, _receiver: False

    def deliveries(self, sender: str, receiver: str) -> list[float]:
        """The delays after which a message is delivered: none if it is lost, two if it is duplicated."""
        if self.cut(sender, receiver) or self.rng.random() < self.loss:
            return []
        times = 2 if self.rng.random() < self.double else 1
        return [self.rng.uniform(*self.delay_s) for _ in range(times)]


@dataclass
class Process:
    """A simulated process: the core of a doctor, or the heartbeat sender of another role."""

    number: int
    who: ProcessIdentity
    address: str
    skew: float
    """Offset of its clock."""
    parent: int
    core: Core | None = None
    heartbeat: HeartbeatSchedule | None = None
    alive: bool = True
    running: bool = True
    """Not stopped by a signal."""
    hung: bool = False
    healthy_from: float = 0.0
    """From when on no doctor has a reason to consider it failed."""
    started_at: float = 0.0
    code: int | None = None
    inbox: deque[tuple[str, Generation, str, Message]] = field(default_factory=deque)
    ends: list[tuple[str, Generation, int]] = field(default_factory=list)
    """Exits of followed processes that it has not handled yet."""
    followed: set[int] = field(default_factory=set)
    look_due: float = 0.0
    poll_due: float = 0.0
    progress: int = 0

    @property
    def name(self) -> str:
        return self.who.name

    @property
    def acts(self) -> bool:
        return self.alive and self.running and not self.hung
