"""`cauce demo --serve`: the service with its dashboard, clients that come again and again, and a process killed every
few seconds. Each answer is compared with the one that `cauce run` gave. The service runs with its default settings."""

from __future__ import annotations

import random
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rich.text import Text

from cauce.chaos.service import NAMES, Clients, Faults, Tally, running, wait_until_all_run
from cauce.cli.output import console
from cauce.doctor.home import Home

STALL_S = 60.0
"""A client that was not answered for so long is stalled; under kills an answer takes a few seconds."""
ALL_RUN_S = 90.0
"""For all processes to run again after the last kill: longer than the longest pause before a restart."""
LOOK_S = 1.0
MOST_SHOWN = 10


@dataclass
class Demo:
    """Clients and kills at one service, until they are ended. `kill_every_s` of 0 means no kills."""

    url: str
    out: Path
    kill_every_s: float
    seed: int
    stall_s: float = STALL_S
    tally: Tally = field(default_factory=lambda: Tally(show))
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._home = Home(self.out / "service")
        self._clients = Clients(self.url, self.out / "data", self.out / "answers", self.tally)
        self._killing: threading.Thread | None = None

    def start(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)
        self._clients.start(len(NAMES))
        if self.kill_every_s:
            faults = Faults(self._home, self.tally, self.kill_every_s, random.Random(self.seed))
            self._killing = threading.Thread(target=faults.play, args=(self._over,), daemon=True)
            self._killing.start()

    def wait(self) -> None:
        """Until Ctrl-C or SIGTERM. A second Ctrl-C ends the command at once."""
        known: set[str] = set()
        while not self._over.wait(LOOK_S):
            stalled = self._clients.stalled(self.stall_s)
            for name in stalled.keys() - known:
                self.tally.say(f"{name} has had no answer for {stalled[name]:.0f} s", "bold red")
            known = set(stalled)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._over.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        """Notes what is wrong at the end: stalled clients, processes that do not run, jobs that do not end."""
        if self._killing is not None:
            self._killing.join()
        for name, seconds in self._clients.stalled(self.stall_s).items():
            self.tally.complain(f"{name} was stalled at the end: no answer for {seconds:.0f} s")
        for wrong in wait_until_all_run(self._home, 0.0 if self.tally.problems else ALL_RUN_S):
            self.tally.complain(f"at the end {wrong}")
        if self.tally.problems:
            self._clients.over.set()
            return
        self._clients.finish(self.stall_s)
        if not self.tally.answers:
            self.tally.complain("no answer arrived before the end")


def serve_demo(out: Path, port: int, kill_every_s: float, seed: int, stall_s: float = STALL_S) -> bool:
    """Until Ctrl-C. Whether every answer was right, answers arrived until the end and every process ran then."""
    with running(out / "service", ["--port", str(port)]) as url:
        console().print(f"Open [bold]{url}/[/bold] in a browser. Ctrl-C ends it.", soft_wrap=True)
        demo = Demo(url, out, kill_every_s, seed, stall_s)
        demo.start()
        demo.wait()
        console().print("Ending: no more kills; waiting for the last answers. Ctrl-C again ends it at once.")
        demo.check()
    return _conclude(demo.tally)


def _conclude(tally: Tally) -> bool:
    counts = f"{tally.answers} answers under {tally.faults.total()} kills"
    if not tally.problems:
        console().print(f"{counts}: all as they should be, until the end. Every process was running at the end.")
        return True
    console().print(f"{counts}: {len(tally.problems)} problems.")
    for problem in list(dict.fromkeys(tally.problems))[:MOST_SHOWN]:
        console().print(Text(f"  {problem}", style="bold red"), soft_wrap=True)
    return False


def show(text: str, style: str) -> None:
    console().print(Text(text, style=style), soft_wrap=True)
