"""What runs in each container: arguments of our own command line. A test has that command line read every one of them.

The address of the fabric, which holds a password, comes by the environment: arguments are shown to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cauce.deploy.image import STATE
from cauce.deploy.plan import HTTP_PORT, Plan

FABRIC = "CAUCE_FABRIC"
TOKENS = "tokens.json"
DOCTOR_PORT = 7700
"""On which a doctor hears heartbeats, by UDP."""


@dataclass(frozen=True)
class Watch:
    """Who watches: the hosts of the doctors in their order, and the file of the key that all of them share."""

    hosts: Sequence[str]
    key_file: str

    @property
    def arguments(self) -> list[str]:
        listed = (f"{doctor_name(f'doctor-{n}')}={host}:{DOCTOR_PORT}" for n, host in enumerate(self.hosts, start=1))
        return ["--doctors", ",".join(listed), "--key-file", self.key_file]


def doctor_name(host: str) -> str:
    """A container is a host of its own: processes of another one cannot be seen from it."""
    return f"{host}@{host}"


def gateway(plan: Plan, watch: Watch, tokens: str = f"{STATE}/{TOKENS}") -> list[str]:
    """Jobs are cut into as many lanes and partitions as there are workers, whichever machine the gateway is on."""
    listening = ["--host", "0.0.0.0", "--port", str(HTTP_PORT), "--tokens", tokens]
    lanes = ["--limit", f"lanes={plan.workers}", "--limit", f"partitions={plan.workers}"]
    return ["gateway", "--dir", STATE, *listening, *lanes, *watch.arguments]


def worker(watch: Watch) -> list[str]:
    """It is called after its container."""
    return ["worker", "--dir", STATE, *watch.arguments]


def doctor(host: str, watch: Watch) -> list[str]:
    return [
        "doctor",
        "--dir",
        STATE,
        "--name",
        doctor_name(host),
        "--listen",
        f"0.0.0.0:{DOCTOR_PORT}",
        *watch.arguments,
    ]
