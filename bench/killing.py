"""Runs Cauce and kills its workers: `python -m bench.killing EVERY_S COUNT_FILE COMMAND ARGUMENTS…`,
where COMMAND is `run` or `sql`.

Kills a busy worker every EVERY_S seconds on average, and appends the number of kills to COUNT_FILE. A worker is killed
only after it has used EVERY_S seconds of processor time, so that a run on an overloaded machine ends too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.commands import Entry
from cauce.lab.chaos.run import Chaos

MOST_KILLS = 200
"""At most so many kills: a run whose workers are killed faster than they complete a part would never end."""


def entry(arguments: Sequence[str], answers: Path, every_s: float) -> Entry:
    """Cauce under kills. The arguments begin with the command, `run` or `sql`."""
    kills = answers.with_name(f"{answers.name}.kills")
    command = (sys.executable, "-m", "bench.killing", str(every_s), str(kills), *arguments)
    return Entry(f"Cauce, a worker killed every {every_s:g} s", command, answers, kills=kills)


def main(every_s: str, count: str, command: str, *arguments: str) -> None:
    weights = (("kill", 1),)
    interval_s = float(every_s)
    chaos = Chaos(
        arguments,
        interval_s,
        0,
        lambda line: None,
        weights,
        most=MOST_KILLS,
        command=command,
        least_cpu_s=interval_s,
    )
    chaos.play()
    with Path(count).open("a", encoding="utf-8") as file:
        file.write(f"{len(chaos.faults)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
