"""A whole service on a disk that loses its power again and again, while clients submit jobs and compare each answer."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import JobFailed
from cauce.lab.chaos.service import Clients, Tally
from cauce.lab.power.volatile_disk import Machine, VolatileDisk
from cauce.lab.power.volatile_tree import CutReport, Survivors
from cauce.process.starting import module_command

POWER_CUT = "power cut"
_LOOK_S = 0.01
_FINISH_S = 240.0


@dataclass
class ServiceTrial:
    """The seed decides after how many changes of the disk the power fails, and what survives of the unsynced ones."""

    disk: VolatileDisk
    tally: Tally
    seed: int
    log: Path
    """Collects the errors of the service, outside of its disk."""
    survivors: Survivors = "ordered"
    changes: tuple[int, int] = (1, 4000)
    options: Sequence[str] = ("--workers", "2", "--gateways", "1", "--doctors", "1", "--attempts", "10000")
    reports: list[CutReport] = field(default_factory=list)
    port: int = field(default_factory=lambda: _free_port())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, clients: Clients, number: int, *, cuts: int, until: float = 0.0) -> None:
        """Cuts the power so many times, and until this time. Then waits until each client has its answers."""
        rng = random.Random(self.seed)
        clients.start(number)
        while len(self.reports) < cuts or time.monotonic() < until:
            self.disk.freeze_after(rng.randint(*self.changes))
            machine = self._start()
            try:
                self._wait_frozen(machine)
                self._record(machine.cut_power(self.disk, rng.getrandbits(32), self.survivors))
            finally:
                machine.stop()
        machine = self._start()
        try:
            clients.finish(_FINISH_S)
        finally:
            machine.stop()

    def _start(self) -> Machine:
        folder = str(self.disk.folder / "service")
        command = ["serve", "--dir", folder, "--port", str(self.port), "--power-safe", *self.options]
        with self.log.open("ab") as log:
            return Machine(module_command("cauce", *command), stdout=subprocess.DEVNULL, stderr=log)

    def _wait_frozen(self, machine: Machine) -> None:
        while not self.disk.status().frozen:
            code = machine.poll()
            if code is not None:
                last = self.log.read_text(errors="replace").strip().rpartition("\n")[2]
                raise JobFailed(f"the service ended with exit code {code} after a power cut: {last}")
            time.sleep(_LOOK_S)

    def _record(self, cut: CutReport) -> None:
        self.reports.append(cut)
        self.tally.faults[POWER_CUT] += 1
        self.tally.report(
            f"power cut: dropped {cut.dropped_bytes:,} bytes of {cut.dropped_writes} writes and {cut.dropped_names} "
            f"changes of names; {cut.survived} unsynced changes survived",
            "yellow",
        )


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])
