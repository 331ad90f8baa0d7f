"""`cauce demo --serve`: runs a service with default settings, clients that submit jobs repeatedly, and a process kill
every few seconds. Compares each answer with that of `cauce run`."""

from __future__ import annotations

import random
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rich.text import Text

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.lab.chaos.service import NAMES, Clients, Faults, Tally, running, wait_until_all_run
from cauce.terminal.console import console

STALL_S = 60.0
"""A client without an answer for this long is stalled; under kills an answer takes a few seconds."""
ALL_RUN_S = 90.0
"""Timeout for all processes to run again after the last kill: longer than the longest restart backoff."""
LOOK_S = 1.0
CLIENT_PAUSE_S = (2.0, 6.0)
"""Between two jobs of a client, so that a demo that is left open does not keep the whole machine busy."""
MOST_SHOWN = 10


@dataclass
class Demo:
    """Runs clients and kills against one service until stopped. With `kill_every_s` of 0 there are no kills."""

    url: str
    out: Path
    kill_every_s: float
    seed: int
    stall_s: float = STALL_S
    tally: Tally = field(default_factory=lambda: Tally(show))
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._home = ServiceDir(self.out / "service")
        self._clients = Clients(self.url, self.out / "data", self.out / "answers", self.tally, pause_s=CLIENT_PAUSE_S)
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
        """Waits for Ctrl-C or SIGTERM and reports stalled clients. A second Ctrl-C ends the command at once."""
        known: set[str] = set()
        while not self._over.wait(LOOK_S):
            stalled = self._clients.stalled(self.stall_s)
            for name in stalled.keys() - known:
                self.tally.report(f"{name} has had no answer for {stalled[name]:.0f} s", "bold red")
            known = set(stalled)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._over.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        """Records the problems at the end: stalled clients, processes that do not run, jobs that do not end."""
        if self._killing is not None:
            self._killing.join()
        for name, seconds in self._clients.stalled(self.stall_s).items():
            self.tally.add_problem(f"{name} was stalled at the end: no answer for {seconds:.0f} s")
        for wrong in wait_until_all_run(self._home, 0.0 if self.tally.problems else ALL_RUN_S):
            self.tally.add_problem(f"at the end {wrong}")
        if self.tally.problems:
            self._clients.over.set()
            return
        self._clients.finish(self.stall_s)
        if not self.tally.answers:
            self.tally.add_problem("no answer arrived before the end")


def serve_demo(out: Path, port: int, kill_every_s: float, seed: int, stall_s: float = STALL_S) -> bool:
    """Serves until Ctrl-C. Returns whether every answer was correct, answers arrived until the end and every process
    was running at the end."""
    with running(out / "service", ["--port", str(port)]) as url:
        console().print(f"Open [bold]{url}/[/bold] in a browser. Ctrl-C ends it.", soft_wrap=True)
        demo = Demo(url, out, kill_every_s, seed, stall_s)
        demo.start()
        demo.wait()
        console().print("Ending: no more kills; waiting for the last answers. Ctrl-C again ends it at once.")
        demo.check()
    return _conclude(demo.tally)


def _conclude(tally: Tally) -> bool:
    kills = tally.faults.total()
    counts = f"{tally.answers} answers under {kills} kill{'s' * (kills != 1)}"
    if not tally.problems:
        console().print(f"{counts}: all correct. Every process was running at the end.", soft_wrap=True)
        return True
    console().print(f"{counts}: {len(tally.problems)} problems.")
    for problem in list(dict.fromkeys(tally.problems))[:MOST_SHOWN]:
        console().print(Text(f"  {problem}", style="bold red"), soft_wrap=True)
    return False


def show(text: str, style: str) -> None:
    console().print(Text(text, style=style), soft_wrap=True)
