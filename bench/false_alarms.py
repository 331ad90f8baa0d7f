"""Counts restarts of healthy processes on an overloaded machine: `python -m bench.false_alarms [--minutes 10]`.

Every core runs a busy loop while clients send jobs to a service; nothing is killed. Every crash, hang, pause or restart
on the timeline is a false alarm, or a real failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.loaded_service import measured, wait_for

SPIN = [sys.executable, "-c", "while True: pass"]
ALARMS = ("crashed", "hung", "paused", "lost", "restarted", "backoff")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--scale", type=float, default=0.005)
    parser.add_argument("--watch", default="star")
    given = parser.parse_args()
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as scratch:
        counts = ["--workers", str(cores), "--gateways", "2", "--doctors", "3", "--watch", given.watch]
        with measured(Path(scratch), given.clients, given.scale, *counts) as (service, clients):
            wait_for("all processes to be ready", lambda: service.ready(cores + 5))
            spinning = [subprocess.Popen(SPIN) for _ in range(cores)]
            try:
                end = time.monotonic() + 60 * given.minutes
                while time.monotonic() < end and not clients.problem:
                    time.sleep(1.0)
                load = os.getloadavg()[0]
            finally:
                for each in spinning:
                    each.kill()
                    each.wait()
            events = service.events()
    elections = sum(event.what == "elected" for event in events) - 1
    alarms = [f"{event.name} {event.what}: {event.reason}" for event in events if event.what in ALARMS]
    sys.stdout.write(
        f"{given.minutes:g} minutes at a load of {load:.1f} on {cores} cores, {clients.done} jobs answered: "
        f"{len(alarms)} false alarms, {elections} unnecessary elections\n"
    )
    if alarms:
        sys.exit("\n".join(alarms))


if __name__ == "__main__":
    main()
