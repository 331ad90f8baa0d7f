"""A simulated cluster: hosts, a network that loses, delays and doubles, processes that die, stop and hang.

Doctors and heartbeats are the real code without its sockets; everything else here is as simple as it can be.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable

from cauce.chaos.simulated import ILL, Net, Process
from cauce.doctor.acts import Act, Follow, Fork, Leave, Note, Record, Rouse, Send, Signal
from cauce.doctor.core import Core, Self
from cauce.doctor.desired import Wish, Wishes
from cauce.doctor.messages import Cause, Epoch, Incarnation, Message, Seen
from cauce.doctor.names import host_of, role_of
from cauce.doctor.patient import Facts, Patient
from cauce.doctor.timing import Timing

LOOK_S = 0.5
POLL_S = 0.5
BUFFER = 300
FORK_S, SPAWN_S = (0.01, 0.1), (0.8, 1.6)
CRASH_S, CRASH_CODE = 0.2, 1


class Hospital:
    def __init__(self, rng: random.Random, timing: Timing, doctors: Iterable[str]) -> None:
        self.rng = rng
        self.timing = timing
        self.seeds = {name: name for name in doctors}
        self.net = Net(rng)
        self.now = 0.0
        self.wishes = Wishes()
        """What lies on the fabric: everybody can read it at any time."""
        self.processes: list[Process] = []
        self.notes: list[tuple[float, str, Note]] = []
        self.terms: dict[Epoch, int] = {}
        self.problem = ""
        self.crashing: set[str] = set()
        """Processes of these names exit with an error soon after each start."""
        self._mail: list[tuple[float, int, str, tuple[str, Incarnation, str, Message]]] = []
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._epochs: dict[str, Epoch] = {}
        """What each host has kept of epochs."""
        self._doomed: set[tuple[str, Incarnation]] = set()
        self._bound: dict[str, Process] = {}
        """Who listens at an address."""

    # --- what the operator and the faults do

    def wish(self, key: str, value: str) -> None:
        wish = self.wishes.next(key, value, "operator")
        self.wishes.add([wish])
        for process in self.alive():
            if process.core is not None and self.rng.random() > self.net.loss:
                self._do(process, process.core.wished(self._time(process), [wish]))

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
                other.ends.append((process.name, process.who.incarnation, process.number))

    def begin(self, name: str, incarnation: Incarnation, restarts: int = 0, parent: int = 0, host: str = "") -> None:
        """A process comes to life, unless somebody has done so already: on its host, an incarnation begins once."""
        begun = any((name, incarnation, host) == (p.name, p.who.incarnation, p.who.host) for p in self.processes)
        if (
            begun
            or (name, incarnation) in self._doomed
            or (role_of(name) == "doctor" and self._is_there(name, incarnation, roused=not parent))
        ):
            return
        self._count += 1
        number = self._count
        address = name if role_of(name) == "doctor" else f"#{number}"
        who = Self(name, host, incarnation, number, number, restarts)
        process = Process(number, who, address, self.rng.uniform(0, 1000), parent, born=self.now)
        self.processes.append(process)
        self._bound[address] = process
        if role_of(name) == "doctor":
            epoch = self._epochs.get(host, Epoch())
            process.core = Core(who, self.timing, self._time(process), self.seeds, epoch)
            acts = process.core.wished(self._time(process), self.wishes.latest.values())
            self._do(process, acts)
            self._do(process, process.core.start(self._time(process), self._survivors(process)))
        else:
            process.patient = Patient(name, host, incarnation, number, number, restarts, dict(self.seeds), self.timing)

    def first(self, host: str) -> Incarnation:
        """For a process that no leader has started."""
        self._count += 1
        return Incarnation(self._epochs.get(host, Epoch()), 1_000_000 + self._count)

    # --- time

    def run(self, seconds: float, look: Callable[[], None] | None = None) -> None:
        end = self.now + seconds
        while self.now < end and not self.problem:
            self.now += self.timing.tick
            while self._later and self._later[0][0] <= self.now:
                heapq.heappop(self._later)[2]()
            while self._mail and self._mail[0][0] <= self.now:
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
        _, _, address, letter = heapq.heappop(self._mail)
        receiver = self._bound.get(address)
        if receiver is not None and len(receiver.inbox) < BUFFER:
            receiver.inbox.append(letter)

    def _step(self, process: Process) -> None:
        """One turn of its loop: what came in first, then the clock."""
        while process.inbox and process.acts:
            sender, incarnation, address, message = process.inbox.popleft()
            if process.core is not None:
                self._do(process, process.core.hear(self._time(process), sender, incarnation, address, message))
            elif process.patient is not None:
                self._do(process, process.patient.hear(sender, message))
        for name, incarnation, number in self._taken(process):
            self._tell_end(process, name, incarnation, number)
        if process.core is not None and process.acts:
            self._doctor_turn(process, process.core)
        elif process.patient is not None and process.acts:
            process.progress += 1
            self._do(process, process.patient.tick(self._time(process), Facts(progress=process.progress)))

    def _doctor_turn(self, process: Process, core: Core) -> None:
        time_s = self._time(process)
        if self.now >= process.look_due:
            process.look_due = self.now + LOOK_S
            self._do(process, core.looked(time_s, self._survivors(process)))
        if self.now >= process.poll_due:
            process.poll_due = self.now + POLL_S
            self._do(process, core.wished(time_s, self.wishes.latest.values()))
        self._do(process, core.tick(time_s, Facts()))
        host = process.who.host
        self._epochs[host] = max(self._epochs.get(host, Epoch()), core.bully.highest)

    def _taken(self, process: Process) -> list[tuple[str, Incarnation, int]]:
        ends, process.ends = process.ends, []
        return ends

    def _tell_end(self, process: Process, name: str, incarnation: Incarnation, number: int) -> None:
        dead = self.processes_by(number)
        cause = Cause(dead.code) if dead is not None and dead.parent == process.number else None
        if process.core is not None:
            self._do(process, process.core.exited(self._time(process), name, incarnation, cause))
        elif process.patient is not None:
            self._do(process, process.patient.ended(name, incarnation))

    def processes_by(self, number: int) -> Process | None:
        return next((each for each in self.processes if each.number == number), None)

    # --- acts

    def _do(self, process: Process, acts: Iterable[Act]) -> None:
        for act in acts:
            match act:
                case Send():
                    self._send(process, act)
                case Fork():
                    self._fork(process, act)
                case Signal():
                    self._signal(process, act)
                case Follow():
                    self._follow(process, act)
                case Note():
                    self.notes.append((self.now, process.name, act))
                case Record(wish):
                    self.later(0.02, lambda wish=wish: self._record(wish))  # type: ignore[misc]
                case Rouse(doctor):
                    self._rouse(process, doctor)
                case Leave():
                    self.kill(process, 75 if act.old else 0)

    def _send(self, process: Process, send: Send) -> None:
        address = send.address or self._address(process, send.to)
        receiver = self._bound.get(address)
        if receiver is None:
            return
        letter = process.name, process.who.incarnation, process.address, send.message
        for delay in self.net.deliveries(process.who.host, receiver.who.host):
            self._count += 1
            heapq.heappush(self._mail, (self.now + delay, self._count, address, letter))

    def _address(self, process: Process, name: str) -> str:
        if process.core is not None:
            return process.core.reach.addresses.get(name, "")
        assert process.patient is not None
        watch = process.patient.watch
        return watch.address if watch is not None and watch.successor == name else process.patient.doctors.get(name, "")

    def _fork(self, process: Process, fork: Fork) -> None:
        assert process.core is not None
        self.on_fork(process, fork)
        host = process.who.host
        core = process.core

        def born() -> None:
            before = self._count
            self.begin(fork.name, fork.incarnation, fork.restarts, process.number, host)
            made = self.processes[-1] if self._count > before else None
            if not process.alive:
                return
            if made is not None and made.name == fork.name:
                self._do(process, core.forked(fork.name, fork.incarnation, made.number, made.number))
                if made.name in self.crashing:
                    self.later(CRASH_S, lambda: self.kill(made, CRASH_CODE))
            else:
                self._do(process, core.exited(self._time(process), fork.name, fork.incarnation, Cause(75)))

        self.later(self.rng.uniform(*FORK_S), born)

    def on_fork(self, process: Process, fork: Fork) -> None:
        """For checks."""

    def on_signal(self, process: Process, victim: Process, signal: Signal) -> None:
        """For checks."""

    def _signal(self, process: Process, signal: Signal) -> None:
        assert process.core is not None
        there = False
        for victim in self.alive():
            if (victim.name, victim.who.incarnation) == (signal.name, signal.incarnation):
                there = True
                if victim.who.host != process.who.host:
                    self.problem = f"{process.name} signals {victim.name} on another host"
                self.on_signal(process, victim, signal)
                victim.well_from = ILL
                if signal.how == "kill":
                    self.kill(victim)
                elif signal.how == "term":
                    self.later(self.rng.uniform(0.0, 0.5), lambda victim=victim: self._obey(victim))  # type: ignore[misc]
        if not there:
            # Not born yet, perhaps: then it never will be.
            self._doomed.add((signal.name, signal.incarnation))
            self._do(process, process.core.exited(self._time(process), signal.name, signal.incarnation))

    def _obey(self, victim: Process) -> None:
        """Who was asked to end does so, once it runs: a signal waits for who was stopped."""
        if victim.acts:
            self.kill(victim, 0)
        elif victim.alive and not victim.running:
            self.later(0.1, lambda: self._obey(victim))

    def _follow(self, process: Process, follow: Follow) -> None:
        target = self.processes_by(follow.pid)
        process.followed.add(follow.pid)
        if target is None or not target.alive:
            process.ends.append((follow.name, follow.incarnation, follow.pid))

    def _record(self, wish: Wish) -> None:
        self.wishes.add([wish])

    def _rouse(self, process: Process, doctor: str) -> None:
        host = process.who.host
        self.later(self.rng.uniform(*SPAWN_S), lambda: self.begin(doctor, self.first(host), host=host))

    def _is_there(self, doctor: str, incarnation: Incarnation, *, roused: bool) -> bool:
        """Whether a doctor of this name holds its port. One that does not answer, or is older than whom a leader
        wants, is ended by who comes."""
        holder = self._bound.get(doctor)
        if holder is not None and (not holder.acts or (not roused and holder.who.incarnation < incarnation)):
            self.kill(holder)
            return False
        return holder is not None

    def _survivors(self, process: Process) -> list[Seen]:
        host = process.who.host
        return [
            Seen(each.name, each.who.incarnation, each.number, each.number, "" if each.running else "T")
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
