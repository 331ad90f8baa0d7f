"""A whole service under faults: clients that come again and again, each answer compared, while processes of every role
are killed and stopped, alone, in pairs, and almost all at once."""

from __future__ import annotations

import io
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cauce.broker.nodes import Nodes
from cauce.client import Job, Service, Settings
from cauce.datasets import BUILT_IN
from cauce.doctor.asking import Asker
from cauce.doctor.home import Home
from cauce.doctor.messages import Seen
from cauce.doctor.names import role_of
from cauce.doctor.proc import send_signal
from cauce.doctor.view import Row
from cauce.errors import BrokerFailed, CauceError, JobFailed

NAMES = ("maria", "juan", "sofia", "diego")
KEPT_JOBS = 3
"""Of each client: older ones are removed, so that it can go on for days."""
STOP_S = 30.0
LOOK_S = 0.2
NODE_TRIES = 3
PAUSE_S = (0.5, 15.0)
"""The longer ones are taken for an end by doctors, the shorter ones are not."""
KILL, PAIR, DOCTORS, ALL, PAUSE = "kill", "two at once", "all doctors but one", "all but one", "pause"
NODE = "kill a broker's node"
KINDS = ((KILL, 10), (PAUSE, 4), (PAIR, 3), (DOCTORS, 1), (ALL, 1))
NO_ANSWER = ("unreachable", "unavailable")
Tell = Callable[[str, str], None]


@dataclass
class Tally:
    """What has happened so far. `tell` shows a line, in a style."""

    tell: Tell
    jobs: int = 0
    answers: int = 0
    returns: int = 0
    """How often a client had no answer for so long that it gave up, and came again for the same job."""
    problems: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    """Processes that faults hit, by role."""
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, text: str, style: str = "") -> None:
        with self._lock:
            self.tell(f"{time.monotonic() - self.began:7.1f} s  {text}", style)

    def complain(self, text: str) -> None:
        self.problems.append(text)
        self.say(text, "bold red")

    def count(self, job: int, answers: int) -> None:
        with self._lock:
            self.jobs += job
            self.answers += answers


@contextmanager
def running(folder: Path, options: Sequence[str]) -> Iterator[str]:
    """A service of its own, and its address."""
    folder.mkdir(parents=True, exist_ok=True)
    # It does not outlive us, even if we are killed.
    ours = ["--end-with", str(os.getpid())]
    command = [sys.executable, "-P", "-m", "cauce", "serve", "--dir", str(folder), *ours, *options]
    with (folder / "serve.log").open("ab") as log:
        # A group of its own: Ctrl-C is for us, and we end it in good order.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    try:
        found = next((each for line in process.stdout if (each := re.search(rb"ready on (\S+)", line))), None)
        if found is None:
            said = (folder / "serve.log").read_text(errors="replace").strip().rpartition("\n")[2]
            raise JobFailed(f"the service did not start: {said} ({folder / 'serve.log'} has more)")
        yield found[1].decode()
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@dataclass
class Clients:
    """`data` and `answers` hold a folder for each dataset."""

    url: str
    data: Path
    answers: Path
    tally: Tally
    settings: Settings | None = None
    over: threading.Event = field(default_factory=threading.Event)
    _finishing: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)
    _at: dict[str, str] = field(default_factory=dict)
    _last_answer: dict[str, float] = field(default_factory=dict)
    """When each client was last answered; at first, when it started."""

    def start(self, number: int) -> None:
        for each in range(number):
            name = NAMES[each % len(NAMES)] + (str(each // len(NAMES) + 1) if each >= len(NAMES) else "")
            self._last_answer[name] = time.monotonic()
            thread = threading.Thread(target=self._live, args=(name, each), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stalled(self, after_s: float) -> dict[str, float]:
        """Clients without an answer for longer than that, and for how long."""
        now = time.monotonic()
        return {name: now - at for name, at in self._last_answer.items() if now - at > after_s}

    def finish(self, within_s: float) -> None:
        """Lets each end what it is at. One whose job does not end is a problem."""
        self._finishing = True
        self.over.set()
        deadline = time.monotonic() + within_s
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        for job in list(self._at.values()):
            self.tally.complain(f"job {job} has not ended within {within_s:.0f} s")

    def _live(self, name: str, number: int) -> None:
        chance = random.Random(number)
        start = number % len(BUILT_IN)
        datasets = itertools.cycle([*BUILT_IN[start:], *BUILT_IN[:start]])
        stamp = f"{int(time.time()) % 100_000:05d}"
        kept: list[Job] = []
        with Service(self.url, on_connection=None) as service:
            for turn, dataset in enumerate(datasets):
                if self.over.wait(chance.uniform(0.2, 3.0)):
                    return
                job = f"{name}-{dataset}-{stamp}-{turn}"
                self._at[name] = job
                try:
                    kept.append(self._ask_in_the_end(service, name, dataset, job))
                    while len(kept) > KEPT_JOBS:
                        kept.pop(0).cancel()
                except CauceError as problem:
                    if self.over.is_set() and not self._finishing:
                        return
                    self.tally.complain(f"{name}: {job}: {problem}")
                del self._at[name]

    def _ask_in_the_end(self, service: Service, name: str, dataset: str, job: str) -> Job:
        """A client whose patience is over does what it is told: it runs the same again."""
        while True:
            try:
                return self._ask(service, name, dataset, job)
            except CauceError as problem:
                if problem.code not in NO_ANSWER or (self.over.is_set() and not self._finishing):
                    raise
                self.tally.returns += 1
                self.tally.say(f"{name}: {job}: {problem}; it comes again", "yellow")

    def _ask(self, service: Service, name: str, dataset: str, job: str) -> Job:
        started = time.monotonic()
        made = service.submit(dataset, self.data / dataset, job=job, settings=self.settings)
        queries, wrong = made.status().queries, []
        for query in queries:
            got = io.BytesIO()
            made.save(query, "csv", got)
            if got.getvalue() != (self.answers / dataset / f"{query}.csv").read_bytes():
                wrong.append(query)
        self.tally.count(1, len(queries))
        self._last_answer[name] = time.monotonic()
        took = time.monotonic() - started
        if wrong:
            self.tally.complain(f"{name}: {dataset}, WRONG answers of {', '.join(wrong)}")
        else:
            self.tally.say(f"{name}: {dataset} answered in {took:.1f} s, byte for byte as it should be")
        return made


def wait_until_all_run(home: Home, within_s: float) -> list[str]:
    """What is wrong with each process that does not run within that time."""
    deadline = time.monotonic() + within_s
    while True:
        with Asker(home.cluster()) as asker:
            view = asker.view()
        wrong = ["no doctor answers"] if view is None else [_wrong(row) for row in view.rows if not _runs(row)]
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(LOOK_S)


def _runs(row: Row) -> bool:
    return row.state == "running" and row.ready


def _wrong(row: Row) -> str:
    return f"{row.name} is {row.state}{f': {row.why}' if row.why else ''}"


@dataclass
class Faults:
    """`kinds` and how often each is chosen. A seed decides what is done to whom; when, the clock does."""

    home: Home
    tally: Tally
    every_s: float
    chance: random.Random
    kinds: Sequence[tuple[str, int]] = ((KILL, 1),)
    nodes: Nodes | None = None
    _stopped: list[tuple[float, Seen]] = field(default_factory=list)

    def play(self, over: threading.Event, until: float | None = None) -> None:
        while not over.wait(self._next_s()) and (until is None or time.monotonic() < until):
            self._wake(time.monotonic())
            alive = self.home.survivors()
            if alive:
                kind = self.chance.choices(*zip(*self.kinds, strict=True))[0]
                self._strike(str(kind), alive)
        self._wake(float("inf"))

    def _next_s(self) -> float:
        return self.every_s if len(self.kinds) == 1 else self.chance.uniform(0.2, 1.8) * self.every_s

    def _strike(self, kind: str, alive: list[Seen]) -> None:
        if kind == NODE:
            self._strike_node()
            return
        hit = [each for each in self._victims(kind, alive) if self._hit(kind, each)]
        if hit:
            self.tally.faults[kind] += 1
            self.tally.hit.update(role_of(each.name) for each in hit)
            done = "stopped" if kind == PAUSE else "killed"
            self.tally.say(f"{done} {', '.join(f'{each.name} (pid {each.pid})' for each in hit)}", "yellow")

    def _victims(self, kind: str, alive: list[Seen]) -> list[Seen]:
        if kind == PAIR:
            return self.chance.sample(alive, min(2, len(alive)))
        if kind == ALL:
            return self.chance.sample(alive, len(alive) - 1)
        if kind == DOCTORS:
            doctors = [each for each in alive if role_of(each.name) == "doctor"]
            return self.chance.sample(doctors, max(len(doctors) - 1, 0))
        role = self.chance.choice(sorted({role_of(each.name) for each in alive}))
        return [self.chance.choice([each for each in alive if role_of(each.name) == role])]

    def _hit(self, kind: str, victim: Seen) -> bool:
        number = signal.SIGSTOP if kind == PAUSE else signal.SIGKILL
        if not send_signal(victim.pid, victim.start, number):
            return False
        if kind == PAUSE:
            self._stopped.append((time.monotonic() + self.chance.uniform(*PAUSE_S), victim))
        return True

    def _wake(self, now: float) -> None:
        """Those whose time is over, as far as nobody has ended them meanwhile."""
        for due, each in list(self._stopped):
            if now >= due:
                self._stopped.remove((due, each))
                if send_signal(each.pid, each.start, signal.SIGCONT):
                    self.tally.say(f"woke {each.name} (pid {each.pid}) up", "yellow")

    def _strike_node(self) -> None:
        """One at a time: the majority stays."""
        assert self.nodes is not None
        if not all(self.nodes.answers(name) for name in self.nodes.names):
            return
        name = self.chance.choice(self.nodes.names)
        self.nodes.kill(name)
        self.tally.faults[NODE] += 1
        self.tally.hit["node"] += 1
        self.tally.say(f"killed the broker's node {name}", "yellow")
        self._start_node(self.nodes, name)

    def _start_node(self, nodes: Nodes, name: str) -> None:
        for tries in range(1, NODE_TRIES + 1):
            try:
                nodes.start_again(name)
            except BrokerFailed:
                # RabbitMQ 3.10 may stumble over a queue that has no leader at that very moment.
                if tries == NODE_TRIES:
                    raise
                self.tally.say(f"node {name} did not come up: started once more", "yellow")
            else:
                return
