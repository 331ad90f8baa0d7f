"""A run of Cauce under kills: `python -m bench.killing EVERY_S COUNT_FILE ARGUMENTS_OF_RUN…`.

Kills a worker that is at work, on average so often, and adds to the file how many kills there were.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cauce.lab.chaos.run import Chaos

MOST_KILLS = 200
"""Then it is left in peace: where kills come faster than a part can be done, it would never end."""


def main(every_s: str, count: str, *arguments: str) -> None:
    chaos = Chaos(arguments, float(every_s), 0, lambda line: None, weights=(("kill", 1),), most=MOST_KILLS)
    chaos.play()
    with Path(count).open("a", encoding="utf-8") as file:
        file.write(f"{len(chaos.faults)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
