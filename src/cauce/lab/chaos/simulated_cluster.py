"""A simulated cluster: hosts, a network that loses, delays and duplicates, processes that crash, stop and hang.

Doctors and heartbeats run the real code without its sockets; everything else is a minimal model.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable

from cauce.doctor.heartbeat.schedule import HeartbeatReport, HeartbeatSchedule
from cauce.doctor.model.actions import (
    Action,
    Exit,
    MonitorExit,
    RecordDesired,
    RecordEvent,
    Send,
    Signal,
    StartDoctor,
    StartProcess,
)
from cauce.doctor.model.desired_state import DesiredEntries, DesiredEntry
from cauce.doctor.model.messages import Cause, Epoch, Generation, Message, ObservedProcess, ProcessIdentity
from cauce.doctor.model.names import host_of, role_of
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.core import Core
from cauce.lab.chaos.simulated import NEVER, Net, Process

LOOK_S = 0.5
POLL_S = 0.5
BUFFER = 300
FORK_S, SPAWN_S = (0.01, 0.1), (0.8, 1.6)
CRASH_S, CRASH_CODE = 0.2, 1


class SimulatedCluster:
    def __init__(self, rng: random.Random, timing: Timing, doctors: Iterable[str]) -> None:
        self.rng = rng
        self.timing = timing
        self.seeds = {name: name for name in doctors}
        self.net = Net(rng)
        self.now = 0.0
        self.desired = DesiredEntries()
        """The desired state on the fabric: every process can read it at any time."""
        self.processes: list[Process] = []
        self.notes: list[tuple[float, str, RecordEvent]] = []
        self.terms: dict[Epoch, int] = {}
        self.problem = ""
        self.crashing: set[str] = set()
        """Processes of these names exit with an error soon after each start."""
        self._in_flight: list[tuple[float, int, str, tuple[str, Generation, str, Message]]] = []
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._epochs: dict[str, Epoch] = {}
        """The epoch that each host has stored."""
        self._cancelled_starts: set[tuple[str, Generation]] = set()
        self._bound: dict[str, Process] = {}
        """The process that listens at an address."""

    # --- operator and faults

    def set_desired(self, key: str, value: str) -> None:
        entry = self.desired.next(key, value, "operator")
        self.desired.add([entry])
        for process in self.alive():
            if process.core is not None and self.rng.random() > self.net.loss:
                self._do(process, process.core.desired_changed(self._time(process), [entry]))

    def alive(self) -> list[Process]:
        return [each for each in self.processes if each.alive]

    def kill(self, process: Process, code: int = -9) -> None:
        if not process.alive:
            return
        process.alive, process.code = False, code
        if self._bound.get(process.address) is process:
            del self._bound[process.address]
        for other in self.processes:
            if other.alive and process.number in other.followed:
                other.ends.append((process.name, process.who.generation, process.number))

    def begin(self, name: str, generation: Generation, restarts: int = 0, parent: int = 0, host: str = "") -> None:
        """Starts a process, unless it was started already: on its host, a generation starts once."""
        started = any((name, generation, host) == (p.name, p.who.generation, p.who.host) for p in self.processes)
        if (
            started
            or (name, generation) in self._cancelled_starts
            or (role_of(name) == "doctor" and self._is_there(name, generation, roused=not parent))
        ):
            return
        self._count += 1
        number = self._count
        address = name if role_of(name) == "doctor" else f"#{number}"
        who = ProcessIdentity(name, host, generation, number, number, restarts)
        process = Process(number, who, address, self.rng.uniform(0, 1000), parent, started_at=self.now)
        self.processes.append(process)
        self._bound[address] = process
        if role_of(name) == "doctor":
            epoch = self._epochs.get(host, Epoch())
            process.core = Core(who, self.timing, self._time(process), self.seeds, epoch)
            acts = process.core.desired_changed(self._time(process), self.desired.latest.values())
            self._do(process, acts)
            self._do(process, process.core.start(self._time(process), self._survivors(process)))
        else:
            process.heartbeat = HeartbeatSchedule(who, dict(self.seeds), self.timing)

    def first(self, host: str) -> Generation:
        """The generation of a process that no leader has started."""
        self._count += 1
        return Generation(self._epochs.get(host, Epoch()), 1_000_000 + self._count)

    # --- time

    def run(self, seconds: float, look: Callable[[], None] | None = None) -> None:
        end = self.now + seconds
        while self.now < end and not self.problem:
            self.now += self.timing.tick
            while self._later and self._later[0][0] <= self.now:
                heapq.heappop(self._later)[2]()
            while self._in_flight and self._in_flight[0][0] <= self.now:
                self._deliver()
            for process in list(self.processes):
                if process.acts:
                    self._step(process)
            self._check_terms()
            if look is not None:
                look()

    def later(self, after_s: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._later, (self.now + after_s, self._count, what))

    def _time(self, process: Process) -> float:
        return self.now + process.skew

    def _deliver(self) -> None:
        _, _, address, packet = heapq.heappop(self._in_flight)
        receiver = self._bound.get(address)
        if receiver is not None and len(receiver.inbox) < BUFFER:
            receiver.inbox.append(packet)

    def _step(self, process: Process) -> None:
        """One iteration of its loop: messages first, then timers."""
        while process.inbox and process.acts:
            sender, generation, address, message = process.inbox.popleft()
            if process.core is not None:
                self._do(process, process.core.receive(self._time(process), sender, generation, address, message))
            elif process.heartbeat is not None:
                self._do(process, process.heartbeat.receive(sender, message))
        for name, generation, number in self._take_exits(process):
            self._handle_exit(process, name, generation, number)
        if process.core is not None and process.acts:
            self._doctor_turn(process, process.core)
        elif process.heartbeat is not None and process.acts:
            process.progress += 1
            self._do(process, process.heartbeat.tick(self._time(process), HeartbeatReport(progress=process.progress)))

    def _doctor_turn(self, process: Process, core: Core) -> None:
        time_s = self._time(process)
        if self.now >= process.look_due:
            process.look_due = self.now + LOOK_S
            self._do(process, core.processes_observed(time_s, self._survivors(process)))
        if self.now >= process.poll_due:
            process.poll_due = self.now + POLL_S
            self._do(process, core.desired_changed(time_s, self.desired.latest.values()))
        self._do(process, core.tick(time_s, HeartbeatReport()))
        host = process.who.host
        self._epochs[host] = max(self._epochs.get(host, Epoch()), core.bully.highest)

    def _take_exits(self, process: Process) -> list[tuple[str, Generation, int]]:
        ends, process.ends = process.ends, []
        return ends

    def _handle_exit(self, process: Process, name: str, generation: Generation, number: int) -> None:
        exited = self.processes_by(number)
        cause = Cause(exited.code) if exited is not None and exited.parent == process.number else None
        if process.core is not None:
            self._do(process, process.core.exited(self._time(process), name, generation, cause))
        elif process.heartbeat is not None:
            self._do(process, process.heartbeat.exited(name, generation))

    def processes_by(self, number: int) -> Process | None:
        return next((each for each in self.processes if each.number == number), None)

    # --- acts

    def _do(self, process: Process, acts: Iterable[Action]) -> None:
        for act in acts:
            match act:
                case Send():
                    self._send(process, act)
                case StartProcess():
                    self._fork(process, act)
                case Signal():
                    self._signal(process, act)
                case MonitorExit():
                    self._follow(process, act)
                case RecordEvent():
                    self.notes.append((self.now, process.name, act))
                case RecordDesired(entry):
                    self.later(0.02, lambda entry=entry: self._record(entry))  # type: ignore[misc]
                case StartDoctor(doctor):
                    self._rouse(process, doctor)
                case Exit():
                    self.kill(process, 75 if act.old else 0)

    def _send(self, process: Process, send: Send) -> None:
        address = send.address or self._address(process, send.to)
        receiver = self._bound.get(address)
        if receiver is None:
            return
        packet = process.name, process.who.generation, process.address, send.message
        for delay in self.net.deliveries(process.who.host, receiver.who.host):
            self._count += 1
            heapq.heappush(self._in_flight, (self.now + delay, self._count, address, packet))

    def _address(self, process: Process, name: str) -> str:
        if process.core is not None:
            return process.core.connectivity.addresses.get(name, "")
        assert process.heartbeat is not None
        watch = process.heartbeat.watch
        return (
            watch.address if watch is not None and watch.successor == name else process.heartbeat.doctors.get(name, "")
        )

    def _fork(self, process: Process, fork: StartProcess) -> None:
        assert process.core is not None
        self.on_fork(process, fork)
        host = process.who.host
        core = process.core

        def start() -> None:
            before = self._count
            self.begin(fork.name, fork.generation, fork.restarts, process.number, host)
            made = self.processes[-1] if self._count > before else None
            if not process.alive:
                return
            if made is not None and made.name == fork.name:
                self._do(process, core.process_started(fork.name, fork.generation, made.number, made.number))
                if made.name in self.crashing:
                    self.later(CRASH_S, lambda: self.kill(made, CRASH_CODE))
            else:
                self._do(process, core.exited(self._time(process), fork.name, fork.generation, Cause(75)))

        self.later(self.rng.uniform(*FORK_S), start)

    def on_fork(self, process: Process, fork: StartProcess) -> None:
        """For checks."""

    def on_signal(self, process: Process, victim: Process, signal: Signal) -> None:
        """For checks."""

    def _signal(self, process: Process, signal: Signal) -> None:
        assert process.core is not None
        there = False
        for victim in self.alive():
            if (victim.name, victim.who.generation) == (signal.name, signal.generation):
                there = True
                if victim.who.host != process.who.host:
                    self.problem = f"{process.name} signals {victim.name} on another host"
                self.on_signal(process, victim, signal)
                victim.healthy_from = NEVER
                if signal.how == "kill":
                    self.kill(victim)
                elif signal.how == "term":
                    self.later(self.rng.uniform(0.0, 0.5), lambda victim=victim: self._terminate(victim))  # type: ignore[misc]
        if not there:
            # It may not have been started yet: then it must not be.
            self._cancelled_starts.add((signal.name, signal.generation))
            self._do(process, process.core.exited(self._time(process), signal.name, signal.generation))

    def _terminate(self, victim: Process) -> None:
        """Handles SIGTERM: a stopped process receives it when it resumes."""
        if victim.acts:
            self.kill(victim, 0)
        elif victim.alive and not victim.running:
            self.later(0.1, lambda: self._terminate(victim))

    def _follow(self, process: Process, follow: MonitorExit) -> None:
        target = self.processes_by(follow.pid)
        process.followed.add(follow.pid)
        if target is None or not target.alive:
            process.ends.append((follow.name, follow.generation, follow.pid))

    def _record(self, entry: DesiredEntry) -> None:
        self.desired.add([entry])

    def _rouse(self, process: Process, doctor: str) -> None:
        host = process.who.host
        self.later(self.rng.uniform(*SPAWN_S), lambda: self.begin(doctor, self.first(host), host=host))

    def _is_there(self, doctor: str, generation: Generation, *, roused: bool) -> bool:
        """Whether a doctor of this name holds its port. One that does not answer, or is older than the generation that
        a leader starts, is killed."""
        holder = self._bound.get(doctor)
        if holder is not None and (not holder.acts or (not roused and holder.who.generation < generation)):
            self.kill(holder)
            return False
        return holder is not None

    def _survivors(self, process: Process) -> list[ObservedProcess]:
        host = process.who.host
        return [
            ObservedProcess(each.name, each.who.generation, each.number, each.number, "" if each.running else "T")
            for each in self.alive()
            if each.who.host == host
        ]

    def _check_terms(self) -> None:
        for process in self.alive():
            if process.core is not None and process.core.leads:
                epoch = process.core.bully.epoch
                if self.terms.setdefault(epoch, process.number) != process.number:
                    self.problem = f"two leaders in epoch {epoch.number}: {process.name} is the second"


def hosts_of(names: Iterable[str]) -> list[str]:
    return sorted({host_of(name) for name in names})
