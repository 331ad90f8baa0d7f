"""Time from the kill of a process of a service to its detection and recovery: `python -m bench.restarts [--kills 100]`.

Kills processes of every role in turn, while clients send jobs and check their answers. The times of detection and
recovery are read from the timeline of the service. Aim: 1 s at the median, 3 s at the 99th percentile.
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

from bench.loaded_service import Measured, measured, wait_for
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.model.names import role_of

AIM_MEDIAN_S, AIM_P99_S = 1.0, 3.0
NO_BACKOFF = ("--timing", "steady=0.01", "--attempts", "100000")
"""The benchmark causes the crashes: no restart backoff, and no quarantine of parts."""


@dataclass(frozen=True)
class Recovery:
    role: str
    detected_s: float
    recovered_s: float


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
        with measured(Path(scratch), given.clients, given.scale, *counts, *NO_BACKOFF) as (service, clients):
            recoveries = [_kill_one(service, size, number, rng) for number in range(given.kills)]
        sys.stdout.write(f"{clients.done} jobs were answered meanwhile, all with equal answers\n")
    for role in ("worker", "gateway", "leader", "doctor"):
        _report(role, [each for each in recoveries if each.role == role])
    _report("all", recoveries)


def _kill_one(service: Measured, size: int, number: int, rng: random.Random) -> Recovery:
    wait_for("all processes to be ready", lambda: service.ready(size))
    running = service.running()
    leader = next((name for name in running if _leads(service, name)), "")
    role = ("worker", "gateway", "doctor", "leader")[number % 4]
    names = [leader] if role == "leader" else [name for name in running if role_of(name) == role and name != leader]
    victim = running[rng.choice(sorted(names))]
    before = len(service.events())
    killed = time.time()
    os.kill(victim.pid, signal.SIGKILL)
    detected = _event_time(service, before, "crashed", victim)
    return Recovery(role, detected - killed, _event_time(service, before, "recovered", victim) - killed)


def _leads(service: Measured, name: str) -> bool:
    elected = [event for event in service.events() if event.what == "elected"]
    return bool(elected) and elected[-1].name == name


def _event_time(service: Measured, before: int, what: str, victim: ObservedProcess) -> float:
    found: list[float] = []

    def recorded() -> bool:
        fresh = service.events()[before:]
        found[:] = [event.at for event in fresh if event.what == what and event.name == victim.name]
        return bool(found)

    wait_for(f"{victim.name} {what}", recorded)
    return found[-1]


def _report(role: str, recoveries: Sequence[Recovery]) -> None:
    if not recoveries:
        return
    lines = []
    for what in ("detected", "recovered"):
        times = sorted(getattr(each, f"{what}_s") for each in recoveries)
        p99 = times[-(-len(times) * 99 // 100) - 1]
        lines.append(f"{what} after {statistics.median(times):.3f} s at the median, {p99:.3f} s at the 99th percentile")
    aims = f" (aims: {AIM_MEDIAN_S:g} s and {AIM_P99_S:g} s)" if role == "all" else ""
    sys.stdout.write(f"{role:>8}: {len(recoveries):3} kills; {'; '.join(lines)}{aims}\n")


if __name__ == "__main__":
    main()
