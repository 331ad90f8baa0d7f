"""A simulated network and simulated processes, as plain values: what is done with them is the hospital's."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.doctor.core import Core, Self
from cauce.doctor.messages import Incarnation, Message
from cauce.doctor.patient import Patient

ILL = float("inf")


@dataclass
class Net:
    """How bad the network is. `cut` says whether nothing gets from one host to another."""

    rng: random.Random
    loss: float = 0.0
    double: float = 0.0
    delay_s: tuple[float, float] = (0.0005, 0.004)
    cut: Callable[[str, str], bool] = lambda _sender, _receiver: False

    def deliveries(self, sender: str, receiver: str) -> list[float]:
        """After what times the message arrives: none, once or twice."""
        if self.cut(sender, receiver) or self.rng.random() < self.loss:
            return []
        times = 2 if self.rng.random() < self.double else 1
        return [self.rng.uniform(*self.delay_s) for _ in range(times)]


@dataclass
class Process:
    """A simulated process: a doctor's core, or the heartbeats of another."""

    number: int
    who: Self
    address: str
    skew: float
    """Its clock is its own."""
    parent: int
    core: Core | None = None
    patient: Patient | None = None
    alive: bool = True
    running: bool = True
    """Not stopped by a signal."""
    hung: bool = False
    well_from: float = 0.0
    """Since when nothing has been done to it that would let others take it for ill."""
    born: float = 0.0
    code: int | None = None
    inbox: deque[tuple[str, Incarnation, str, Message]] = field(default_factory=deque)
    ends: list[tuple[str, Incarnation, int]] = field(default_factory=list)
    """Ends of followed processes that it has not looked at yet."""
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
