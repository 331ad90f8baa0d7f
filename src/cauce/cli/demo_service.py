"""`cauce demo --serve`: the service with its dashboard, clients that come again and again, and a process killed every
few seconds. Each answer is compared with the one that `cauce run` gave."""

from __future__ import annotations

import random
import signal
import threading
from pathlib import Path

from rich.text import Text

from cauce.chaos.service import NAMES, Clients, Faults, Tally, running
from cauce.cli.output import console
from cauce.doctor.home import Home


def serve_demo(out: Path, port: int, kill_every_s: float, seed: int) -> bool:
    """Until Ctrl-C. Whether every answer was right."""
    tally, over = Tally(show), threading.Event()
    with running(out / "service", ["--port", str(port), "--attempts", "100"]) as url:
        console().print(f"Open [bold]{url}/[/bold] in a browser. Ctrl-C ends it.", soft_wrap=True)
        clients = Clients(url, out / "data", out / "answers", tally, over=over)
        clients.start(len(NAMES))
        if kill_every_s:
            faults = Faults(Home(out / "service"), tally, kill_every_s, random.Random(seed))
            threading.Thread(target=faults.play, args=(over,), daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: over.set())
        over.wait()
        wrong = len(tally.problems)
    console().print(
        f"{tally.answers} answers under {tally.faults.total()} kills: "
        + ("all as they should be." if not wrong else f"{wrong} problems.")
    )
    return not wrong


def show(text: str, style: str) -> None:
    console().print(Text(text, style=style), soft_wrap=True)
