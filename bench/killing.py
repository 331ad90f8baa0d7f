"""Runs Cauce and kills its workers: `python -m bench.killing EVERY_S COUNT_FILE COMMAND ARGUMENTS…`,
where COMMAND is `run` or `sql`.

Kills a busy worker every EVERY_S seconds on average, and appends the number of kills to COUNT_FILE.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cauce.lab.chaos.run import Chaos

MOST_KILLS = 200
"""At most so many kills: a run whose workers are killed faster than they complete a part would never end."""


def main(every_s: str, count: str, command: str, *arguments: str) -> None:
    weights = (("kill", 1),)
    chaos = Chaos(arguments, float(every_s), 0, lambda line: None, weights, most=MOST_KILLS, command=command)
    chaos.play()
    with Path(count).open("a", encoding="utf-8") as file:
        file.write(f"{len(chaos.faults)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
