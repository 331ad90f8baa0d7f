"""A whole service under faults: clients submit jobs continuously and compare each answer, while processes of every
role are killed and stopped, alone, in pairs, and almost all at once."""

from __future__ import annotations

import io
import itertools
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cauce.client import Job, Service, Settings
from cauce.datasets import BUILT_IN
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.model.names import role_of
from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.query import QueryClient
from cauce.errors import BrokerFailed, CauceError, JobFailed
from cauce.lab.broker.nodes import Nodes
from cauce.process.private_files import FILE_MODE, make_directory
from cauce.process.starting import module_command
from cauce.process.table import send_signal

NAMES = ("maria", "juan", "sofia", "diego")
KEPT_JOBS = 3
"""Of each client: older ones are removed, so that it can run for days."""
STOP_S = 30.0
LOOK_S = 0.2
NODE_TRIES = 3
PAUSE_S = (0.5, 15.0)
"""Doctors treat the longer ones as failures, the shorter ones not."""
KILL, PAIR, DOCTORS, ALL, PAUSE = "kill", "two at once", "all doctors but one", "all but one", "pause"
NODE = "kill a broker's node"
KINDS = ((KILL, 10), (PAUSE, 4), (PAIR, 3), (DOCTORS, 1), (ALL, 1))
NO_ANSWER = ("unreachable", "unavailable")
Show = Callable[[str, str], None]


@dataclass
class Tally:
    """Counters and problems so far. `show` prints a line, in a style."""

    show: Show
    jobs: int = 0
    answers: int = 0
    returns: int = 0
    """How often a client timed out and submitted the same job again."""
    problems: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    """Processes that faults hit, by role."""
    longest_gap_s: float = 0.0
    """The longest time in which no job was answered."""
    started: float = field(default_factory=time.monotonic)
    _answered_at: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, text: str, style: str = "") -> None:
        with self._lock:
            self.show(f"{time.monotonic() - self.started:7.1f} s  {text}", style)

    def add_problem(self, text: str) -> None:
        self.problems.append(text)
        self.report(text, "bold red")

    def count(self, job: int, answers: int) -> None:
        with self._lock:
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - self._answered_at)
            self._answered_at = now
            self.jobs += job
            self.answers += answers


@contextmanager
def running(folder: Path, options: Sequence[str]) -> Iterator[str]:
    """Runs a private service; yields its address."""
    make_directory(folder)
    # It exits with this process, even if that is killed.
    end_with = ["--end-with", str(os.getpid())]
    command = module_command("cauce", "serve", "--dir", str(folder), *end_with, *options)
    with open(os.open(folder / "serve.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE), "ab") as log:
        # A separate session: Ctrl-C reaches only this process, which then stops the service cleanly.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    try:
        found = next((each for line in process.stdout if (each := re.search(rb"ready on (\S+)", line))), None)
        if found is None:
            last_line = (folder / "serve.log").read_text(errors="replace").strip().rpartition("\n")[2]
            raise JobFailed(f"the service did not start: {last_line}; see {folder / 'serve.log'}")
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
    datasets: Sequence[str] = BUILT_IN
    pause_s: tuple[float, float] = (0.2, 3.0)
    """The shortest and the longest pause of a client between two jobs."""
    over: threading.Event = field(default_factory=threading.Event)
    _finishing: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)
    _at: dict[str, str] = field(default_factory=dict)
    _last_answer: dict[str, float] = field(default_factory=dict)
    """When each client received its last answer; at first, when it started."""

    def start(self, number: int) -> None:
        for each in range(number):
            name = NAMES[each % len(NAMES)] + (str(each // len(NAMES) + 1) if each >= len(NAMES) else "")
            self._last_answer[name] = time.monotonic()
            thread = threading.Thread(target=self._run_client, args=(name, each), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stalled(self, after_s: float) -> dict[str, float]:
        """Clients without an answer for longer than `after_s`, with the time since the last one."""
        now = time.monotonic()
        return {name: now - at for name, at in self._last_answer.items() if now - at > after_s}

    def finish(self, within_s: float) -> None:
        """Waits until each client has completed its job; reports jobs that do not end in time."""
        self._finishing = True
        self.over.set()
        deadline = time.monotonic() + within_s
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        for job in list(self._at.values()):
            self.tally.add_problem(f"job {job} has not ended within {within_s:.0f} s")

    def _run_client(self, name: str, number: int) -> None:
        chance = random.Random(number)
        start = number % len(self.datasets)
        datasets = itertools.cycle([*self.datasets[start:], *self.datasets[:start]])
        stamp = f"{int(time.time()) % 100_000:05d}"
        kept: list[Job] = []
        with Service(self.url, on_connection=None) as service:
            for turn, dataset in enumerate(datasets):
                if self.over.wait(chance.uniform(*self.pause_s)):
                    return
                job = f"{name}-{dataset}-{stamp}-{turn}"
                self._at[name] = job
                try:
                    kept.append(self._submit_until_answered(service, name, dataset, job))
                    while len(kept) > KEPT_JOBS:
                        kept.pop(0).cancel()
                except CauceError as problem:
                    if self.over.is_set() and not self._finishing:
                        return
                    self.tally.add_problem(f"{name}: {job}: {problem}")
                del self._at[name]

    def _submit_until_answered(self, service: Service, name: str, dataset: str, job: str) -> Job:
        """After a timeout the client submits the same job again, as the error message advises."""
        while True:
            try:
                return self._submit(service, name, dataset, job)
            except CauceError as problem:
                if problem.code not in NO_ANSWER or (self.over.is_set() and not self._finishing):
                    raise
                self.tally.returns += 1
                self.tally.report(f"{name}: {job}: {problem}; submitted again", "yellow")

    def _submit(self, service: Service, name: str, dataset: str, job: str) -> Job:
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
            self.tally.add_problem(f"{name}: {dataset}, WRONG answers of {', '.join(wrong)}")
        else:
            self.tally.report(f"{name}: {dataset} answered in {took:.1f} s, byte for byte as expected")
        return made


def wait_until_all_run(home: ServiceDir, within_s: float) -> list[str]:
    """The problem of each process that does not run within that time."""
    deadline = time.monotonic() + within_s
    while True:
        with QueryClient(home.cluster()) as client:
            view = client.status()
        wrong = ["no doctor answers"] if view is None else [_wrong(row) for row in view.rows if not _runs(row)]
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(LOOK_S)


def _runs(row: ProcessStatus) -> bool:
    return row.state == "running" and row.ready


def _wrong(row: ProcessStatus) -> str:
    return f"{row.name} is {row.state}{f': {row.reason}' if row.reason else ''}"


@dataclass
class Faults:
    """Injects faults. `kinds` are faults and their weights. A seed decides fault and victim; the clock decides when.

    The last process that runs is spared: nothing of the service would restart it. On a busy machine faults come faster
    than processes start, and would hit the only one again and again."""

    home: ServiceDir
    tally: Tally
    every_s: float
    chance: random.Random
    kinds: Sequence[tuple[str, int]] = ((KILL, 1),)
    nodes: Nodes | None = None
    _stopped: list[tuple[float, ObservedProcess]] = field(default_factory=list)

    def play(self, over: threading.Event, until: float | None = None) -> None:
        while not over.wait(self._next_s()) and (until is None or time.monotonic() < until):
            self._resume_due(time.monotonic())
            alive = self.home.running_processes()
            if alive:
                kind = self.chance.choices(*zip(*self.kinds, strict=True))[0]
                self._inject(str(kind), alive)
        self._resume_due(float("inf"))

    def _next_s(self) -> float:
        return self.every_s if len(self.kinds) == 1 else self.chance.uniform(0.2, 1.8) * self.every_s

    def _inject(self, kind: str, alive: list[ObservedProcess]) -> None:
        if kind == NODE:
            self._kill_node()
            return
        running = [each for each in alive if not self._is_stopped(each)]
        victims = self._victims(kind, alive)
        if all(each in victims for each in running):
            return
        hit = [each for each in victims if self._hit(kind, each)]
        if hit:
            self.tally.faults[kind] += 1
            self.tally.hit.update(role_of(each.name) for each in hit)
            done = "stopped" if kind == PAUSE else "killed"
            self.tally.report(f"{done} {', '.join(f'{each.name} (pid {each.pid})' for each in hit)}", "yellow")

    def _victims(self, kind: str, alive: list[ObservedProcess]) -> list[ObservedProcess]:
        if kind == PAIR:
            return self.chance.sample(alive, min(2, len(alive)))
        if kind == ALL:
            return self.chance.sample(alive, len(alive) - 1)
        if kind == DOCTORS:
            doctors = [each for each in alive if role_of(each.name) == "doctor"]
            return self.chance.sample(doctors, max(len(doctors) - 1, 0))
        role = self.chance.choice(sorted({role_of(each.name) for each in alive}))
        return [self.chance.choice([each for each in alive if role_of(each.name) == role])]

    def _is_stopped(self, process: ObservedProcess) -> bool:
        return any((each.pid, each.start) == (process.pid, process.start) for _, each in self._stopped)

    def _hit(self, kind: str, victim: ObservedProcess) -> bool:
        number = signal.SIGSTOP if kind == PAUSE else signal.SIGKILL
        if not send_signal(victim.pid, victim.start, number):
            return False
        if kind == PAUSE:
            self._stopped.append((time.monotonic() + self.chance.uniform(*PAUSE_S), victim))
        return True

    def _resume_due(self, now: float) -> None:
        """Resumes stopped processes that are due and still exist."""
        for due, each in list(self._stopped):
            if now >= due:
                self._stopped.remove((due, each))
                if send_signal(each.pid, each.start, signal.SIGCONT):
                    self.tally.report(f"resumed {each.name} (pid {each.pid})", "yellow")

    def _kill_node(self) -> None:
        """Kills one node at a time, so that a majority remains."""
        assert self.nodes is not None
        if not all(self.nodes.answers(name) for name in self.nodes.names):
            return
        name = self.chance.choice(self.nodes.names)
        self.nodes.kill(name)
        self.tally.faults[NODE] += 1
        self.tally.hit["node"] += 1
        self.tally.report(f"killed broker node {name}", "yellow")
        self._start_node(self.nodes, name)

    def _start_node(self, nodes: Nodes, name: str) -> None:
        for tries in range(1, NODE_TRIES + 1):
            try:
                nodes.start_again(name)
            except BrokerFailed:
                # RabbitMQ 3.10 may fail to start while a queue has no leader.
                if tries == NODE_TRIES:
                    raise
                self.tally.report(f"node {name} did not start: retrying", "yellow")
            else:
                return
