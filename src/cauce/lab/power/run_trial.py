"""A run, or a statement in SQL, on a disk that loses its power again and again."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cauce.errors import JobFailed
from cauce.lab.power.volatile_disk import Machine, VolatileDisk
from cauce.lab.power.volatile_tree import CutReport, Survivors
from cauce.process.starting import module_command

_LOOK_S = 0.005
_LONGEST_RUN_S = 600.0


@dataclass
class RunTrial:
    """`arguments` are those of `cauce run` or `cauce sql`, without `--work`. The seed decides after how many changes of
    the disk the power fails, and what survives of the unsynced ones."""

    command: str
    arguments: Sequence[str]
    seed: int
    cuts: int
    changes: int
    """The power fails after at most so many changes of the disk."""
    survivors: Survivors = "ordered"
    power_safe: bool = True
    report: Callable[[str], None] = lambda line: None
    reports: list[CutReport] = field(default_factory=list)

    def play(self, disk: VolatileDisk) -> None:
        """Runs until the job has completed. Raises JobFailed if it ends with an error."""
        rng = random.Random(self.seed)
        deadline = time.monotonic() + _LONGEST_RUN_S
        with tempfile.TemporaryFile() as stderr:
            while True:
                if len(self.reports) < self.cuts:
                    disk.freeze_after(rng.randint(1, self.changes))
                code = self._run(disk, rng, stderr.fileno(), deadline)
                if code == 0:
                    return
                if code is not None:
                    stderr.seek(0)
                    raise JobFailed(f"the run ended with exit code {code}: {stderr.read().decode(errors='replace')}")

    def _run(self, disk: VolatileDisk, rng: random.Random, stderr: int, deadline: float) -> int | None:
        """The exit code; None if the power failed."""
        # These kills are not caused by the data, so they must not quarantine the job.
        options = ["--work", str(disk.folder / "work"), "--attempts", "10000", *["--power-safe"] * self.power_safe]
        machine = Machine(module_command("cauce", self.command, *self.arguments, *options), stderr=stderr)
        try:
            while (code := machine.poll()) is None:
                if disk.status().frozen:
                    self._record(machine.cut_power(disk, rng.getrandbits(32), self.survivors))
                    return None
                if time.monotonic() > deadline:
                    raise JobFailed(f"the run with power cuts did not end within {_LONGEST_RUN_S:.0f} s")
                time.sleep(_LOOK_S)
            return code
        finally:
            machine.stop()

    def _record(self, cut: CutReport) -> None:
        self.reports.append(cut)
        self.report(str(cut))
