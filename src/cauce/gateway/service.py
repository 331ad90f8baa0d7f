"""What a thread of a gateway holds: a fabric of its own, and the jobs over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cauce.doctor.events import EventLog
from cauce.errors import FabricError
from cauce.fabric.address import open_fabric
from cauce.fabric.contract import Durability, Fabric
from cauce.gateway.jobs import Jobs
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.uploads import Room
from cauce.gateway.views import Tell


@dataclass(frozen=True)
class Service:
    root: Path | None
    """The folder of its fabric, where that is one of this machine."""
    fabric: Fabric
    jobs: Jobs
    events: EventLog

    def check(self) -> None:
        """Raises unless the fabric can be used."""
        self.fabric.jobs()
        if self.root is not None and not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise FabricError(f"{self.root} may not be written: give this user the right to")

    def close(self) -> None:
        self.fabric.close()


def service_maker(
    root: Path | None,
    address: str,
    durability: Durability,
    limits: ServiceLimits,
    datasets: Mapping[str, str],
    tell: Tell,
) -> Callable[[], Service]:
    room = Room()

    def make() -> Service:
        fabric = open_fabric(address, durability)
        return Service(root, fabric, Jobs(fabric, limits, datasets=datasets, tell=tell, room=room), EventLog(fabric))

    return make
