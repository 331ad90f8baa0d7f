"""`cauce demo --serve`: the service with its dashboard, clients that come again and again, and a process killed every
few seconds. Each answer is compared with the one that `cauce run` gave."""

from __future__ import annotations

import io
import itertools
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.text import Text

from cauce.cli.output import console
from cauce.client import Job, Service
from cauce.datasets import BUILT_IN
from cauce.doctor.home import Home
from cauce.doctor.names import role_of
from cauce.doctor.proc import send_signal
from cauce.errors import CauceError, JobFailed

CLIENTS = ("maria", "juan", "sofia", "diego")
KEPT_JOBS = 3
"""Of each client: older ones are removed, so that a demo can run for days."""
STOP_S = 15.0


@dataclass
class Tally:
    answers: int = 0
    wrong: int = 0
    kills: int = 0
    began: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, text: str, style: str = "") -> None:
        with self.lock:
            console.print(Text(f"{time.monotonic() - self.began:7.1f} s  {text}", style=style), soft_wrap=True)


def serve_demo(out: Path, port: int, kill_every_s: float, seed: int, for_s: float | None = None) -> bool:
    """Until Ctrl-C, or for a time. Whether every answer was right."""
    tally, over = Tally(), threading.Event()
    with _service(out / "service", port) as url:
        console.print(f"Open [bold]{url}/[/bold] in a browser. Ctrl-C ends it.", soft_wrap=True)
        threads = [
            threading.Thread(target=_client, args=(name, number, url, out, tally, over), daemon=True)
            for number, name in enumerate(CLIENTS)
        ]
        if kill_every_s:
            killer = (Home(out / "service"), kill_every_s, random.Random(seed), tally, over)
            threads.append(threading.Thread(target=_kill, args=killer, daemon=True))
        for thread in threads:
            thread.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: over.set())
        over.wait(for_s)
        over.set()
    console.print(
        f"{tally.answers} answers under {tally.kills} kills: "
        + ("all as they should be." if not tally.wrong else f"{tally.wrong} WRONG.")
    )
    return not tally.wrong


@contextmanager
def _service(folder: Path, port: int) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "cauce", "serve", "--dir", str(folder), "--port", str(port)]
    with (folder / "serve.log").open("ab") as log:
        # A group of its own: Ctrl-C is for us, and we end it in good order.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    try:
        found = next((each for line in process.stdout if (each := re.search(rb"ready on (\S+)", line))), None)
        if found is None:
            raise JobFailed(f"the service did not start; {folder / 'serve.log'} says why")
        yield found[1].decode()
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _client(name: str, number: int, url: str, out: Path, tally: Tally, over: threading.Event) -> None:
    chance = random.Random(number)
    datasets = itertools.cycle([*BUILT_IN[number:], *BUILT_IN[:number]])
    stamp = f"{int(time.time()) % 100_000:05d}"
    kept: list[Job] = []
    with Service(url) as service:
        for turn, dataset in enumerate(datasets):
            if over.wait(chance.uniform(0.2, 3.0)):
                return
            try:
                started = time.monotonic()
                job = service.submit(dataset, out / "data" / dataset, job=f"{name}-{dataset}-{stamp}-{turn}")
                _check(name, dataset, job, out, time.monotonic() - started, tally)
                kept.append(job)
                while len(kept) > KEPT_JOBS:
                    kept.pop(0).cancel()
            except CauceError as problem:
                if not over.is_set():
                    tally.say(f"{name}: {problem}", "red")


def _check(name: str, dataset: str, job: Job, out: Path, seconds: float, tally: Tally) -> None:
    wrong: list[str] = []
    for query in job.status().queries:
        got = io.BytesIO()
        job.save(query, "csv", got)
        if got.getvalue() != (out / "answers" / dataset / f"{query}.csv").read_bytes():
            wrong.append(query)
        tally.answers += 1
    tally.wrong += len(wrong)
    if wrong:
        tally.say(f"{name}: {dataset}, WRONG answers of {', '.join(wrong)}", "bold red")
    else:
        tally.say(f"{name}: {dataset} answered in {seconds:.1f} s, byte for byte as it should be")


def _kill(home: Home, every_s: float, chance: random.Random, tally: Tally, over: threading.Event) -> None:
    while not over.wait(every_s):
        alive = home.survivors()
        if not alive:
            continue
        role = chance.choice(sorted({role_of(each.name) for each in alive}))
        victim = chance.choice([each for each in alive if role_of(each.name) == role])
        if send_signal(victim.pid, victim.start, signal.SIGKILL):
            tally.kills += 1
            tally.say(f"killed {victim.name} (pid {victim.pid})", "yellow")
