"""The time until a killed process is detected and works again: `python -m bench.healing [--kills 100]`.

Kills processes of a service of every kind in turn, while clients send jobs and check their answers. The times are those
of the service's own timeline, counted from the kill. Aim: a second at the median, three at the 99th percentile.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.service import Measured, measured, wait_for
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.model.names import role_of

AIM_MEDIAN_S, AIM_P99_S = 1.0, 3.0
PATIENT = ("--timing", "steady=0.01", "--attempts", "100000")
"""The kills are our doing: no restart is to be delayed by them, and no part to be blamed."""


@dataclass(frozen=True)
class Healed:
    role: str
    noticed_s: float
    back_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gateways", type=int, default=2)
    parser.add_argument("--doctors", type=int, default=3)
    parser.add_argument("--watch", default="star")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--scale", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = [f"--{name}={getattr(given, name)}" for name in ("workers", "gateways", "doctors", "watch")]
    size = given.workers + given.gateways + given.doctors
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as scratch:
        with measured(Path(scratch), given.clients, given.scale, *counts, *PATIENT) as (service, clients):
            healed = [_kill_one(service, size, number, rng) for number in range(given.kills)]
        sys.stdout.write(f"{clients.done} jobs were answered meanwhile, all alike\n")
    for role in ("worker", "gateway", "leader", "doctor"):
        _tell(role, [each for each in healed if each.role == role])
    _tell("all", healed)


def _kill_one(service: Measured, size: int, number: int, rng: random.Random) -> Healed:
    wait_for("all to be well", lambda: service.well(size))
    alive = service.alive()
    leader = next((name for name in alive if _leads(service, name)), "")
    role = ("worker", "gateway", "doctor", "leader")[number % 4]
    names = [leader] if role == "leader" else [name for name in alive if role_of(name) == role and name != leader]
    victim = alive[rng.choice(sorted(names))]
    before = len(service.events())
    killed = time.time()
    os.kill(victim.pid, signal.SIGKILL)
    noticed = _when(service, before, "crashed", victim)
    return Healed(role, noticed - killed, _when(service, before, "recovered", victim) - killed)


def _leads(service: Measured, name: str) -> bool:
    elected = [event for event in service.events() if event.what == "elected"]
    return bool(elected) and elected[-1].name == name


def _when(service: Measured, before: int, what: str, victim: ObservedProcess) -> float:
    found: list[float] = []

    def told() -> bool:
        fresh = service.events()[before:]
        found[:] = [event.at for event in fresh if event.what == what and event.name == victim.name]
        return bool(found)

    wait_for(f"{victim.name} {what}", told)
    return found[-1]


def _tell(role: str, healed: Sequence[Healed]) -> None:
    if not healed:
        return
    told = []
    for what in ("noticed", "back"):
        times = sorted(getattr(each, f"{what}_s") for each in healed)
        p99 = times[-(-len(times) * 99 // 100) - 1]
        told.append(f"{what} after {statistics.median(times):.3f} s at the median, {p99:.3f} s at the 99th percentile")
    aims = f" (aims: {AIM_MEDIAN_S:g} s and {AIM_P99_S:g} s)" if role == "all" else ""
    sys.stdout.write(f"{role:>8}: {len(healed):3} kills; {'; '.join(told)}{aims}\n")


if __name__ == "__main__":
    main()
