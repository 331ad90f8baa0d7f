"""Doctors under simulated faults: a seed decides the cluster, the network, and who dies, stops or hangs when.

When the faults are over there must be one leader within a bound, everybody who should run must run once, nobody who
was stopped may run, and then nothing may move any more. A process that keeps crashing is restarted with growing
pauses, and runs again by itself once it no longer crashes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.chaos.hospital import Hospital, hosts_of
from cauce.chaos.simulated import ILL, Process
from cauce.doctor.acts import Fork, Signal
from cauce.doctor.desired import RING, RUNNING, STOPPED, WATCH, count_key, hold_key
from cauce.doctor.names import Role, host_of, name_of, role_of
from cauce.doctor.timing import Timing

TIMING = Timing(paused=4.0, hung=10.0, start=10.0, lost=3.0)
FAULTS_S = (10.0, 30.0)
LEADER_BOUND_S = 8.0
"""From the end of all faults until all doctors agree on a leader, where a doctor lives."""
ROUSED_S = 8.0
"""More, where none does and one must be started."""
SETTLED_S = 30.0
"""From the end of all faults until everybody runs: the hung are given time, and so is who was thought lost."""
QUIET_S = 6.0
"""For how long nothing may move before a cluster counts as settled."""
MANAGER_S = 3.0
CRASH_LOOPS = 0.3
"""The share of schedules that end with a crash loop."""
CRASH_LOOP_S = 20.0
MOST_STARTS = 12
"""Of a process that crashes for so long: without pauses there would be about sixty."""
HEARD_S = 1.0
"""Until every doctor has heard of an operator's wish."""


@dataclass
class Outcome:
    seed: int
    what: str
    faults: list[str] = field(default_factory=list)
    problem: str = ""
    leader_s: float = 0.0
    settled_s: float = 0.0


class _Ward(Hospital):
    """A hospital that knows what must not happen."""

    calm_since = float("inf")
    worst_loss = 0.0

    def on_fork(self, process: Process, fork: Fork) -> None:
        if fork.name in self.wishes.desired.held and self.now - self.calm_since > HEARD_S:
            self.problem = f"{process.name} starts {fork.name}, which an operator stopped"

    def on_signal(self, process: Process, victim: Process, signal: Signal) -> None:
        desired = self.wishes.desired
        newer = any(
            each.name == victim.name and each.who.incarnation > victim.who.incarnation for each in self.processes
        )
        blameless = desired.wants(victim.name) and not newer and victim.acts and self.now >= victim.well_from
        # Where a third of all messages is lost, so may be all that somebody says for a while.
        if blameless and len(hosts_of(self.seeds)) == 1 and self.worst_loss < 0.1:
            self.problem = f"{process.name} ends {victim.name}, which is well"


class Schedule:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rng = self.rng
        several = rng.random() < 0.5
        hosts = ["a", "b", "c"][: rng.randint(2, 3)] if several else [""]
        places = [rng.choice(hosts) for _ in range(rng.choice([1, 2, 3, 3, 3, 4, 5]))]
        counts: dict[tuple[Role, str], int] = {("doctor", host): places.count(host) for host in places}
        for host in dict.fromkeys(places):
            counts["worker", host] = rng.randint(1, 3)
            counts["gateway", host] = rng.randint(0, 2)
        self.ring = rng.random() < 0.4
        doctors = [name_of("doctor", n + 1, host) for host in sorted(set(places)) for n in range(places.count(host))]
        self.ward = _Ward(rng, TIMING, doctors)
        self.outcome = Outcome(seed, f"{len(doctors)} doctors on {len(set(places))} hosts{', ring' * self.ring}")
        for (role, host), count in counts.items():
            self.ward.wish(count_key(role, host), str(count))
        self.ward.wish(WATCH, RING if self.ring else "star")
        self.ward.wish(RUNNING, "yes")
        for name in doctors:
            host = name.partition("@")[2]
            self.ward.begin(name, self.ward.first(host), host=host)
        self.ward.later(MANAGER_S, self._manage)

    def play(self) -> Outcome:
        self.ward.run(self.rng.uniform(2.0, 8.0))
        self._rage(self.rng.uniform(*FAULTS_S))
        self._calm_down()
        if not self.ward.problem:
            self._check()
        self.outcome.problem = self.ward.problem or self.outcome.problem
        return self.outcome

    def _manage(self) -> None:
        """What a service manager does: on a host where nobody is left who could, it starts a doctor."""
        lively = {each.who.host for each in self.ward.alive() if each.acts}
        for host in hosts_of(self.ward.seeds):
            if host not in lively:
                name = min(name for name in self.ward.seeds if host_of(name) == host)
                self.ward.begin(name, self.ward.first(host), host=host)
        self.ward.later(MANAGER_S, self._manage)

    # --- faults

    def _rage(self, seconds: float) -> None:
        ward, rng = self.ward, self.rng
        ward.net.loss = ward.worst_loss = rng.choice([0.0, 0.05, 0.3])
        ward.net.double = rng.choice([0.0, 0.2])
        ward.net.delay_s = rng.choice([(0.0005, 0.004), (0.0, 0.3), (0.0, 2.0)])
        end = ward.now + seconds
        while ward.now < end and not ward.problem:
            self._strike()
            ward.run(rng.expovariate(1.0) + 0.05)

    def _strike(self) -> None:
        rng = self.rng
        kinds: list[tuple[Callable[[], None], int]] = [
            (self._kill, 6),
            (self._pause, 4),
            (self._hang, 1),
            (self._partition, 3),
            (self._operate, 2),
            (self._massacre, 1),
        ]
        choices, weights = zip(*kinds, strict=True)
        rng.choices(choices, weights)[0]()

    def _tell(self, what: str) -> None:
        self.outcome.faults.append(f"{self.ward.now:7.2f} s  {what}")

    def _victims(self) -> list[Process]:
        return [each for each in self.ward.alive() if each.running]

    def _kill(self) -> None:
        if victims := self._spared(1):
            victim = self.rng.choice(victims)
            self._tell(f"{victim.name} is killed")
            self.ward.kill(victim)

    def _spared(self, count: int) -> list[Process]:
        """Those who may die: on every host somebody is left, or nobody could bring it back."""
        left: list[Process] = []
        for host in hosts_of(self.ward.seeds):
            own = [each for each in self._victims() if each.who.host == host and not each.hung]
            self.rng.shuffle(own)
            own.sort(key=self._may_leave)
            left += own[count:]
        return left

    def _may_leave(self, process: Process) -> bool:
        """Whether it will go by itself: nobody to count on."""
        later = any(
            each.name == process.name and each.who.incarnation > process.who.incarnation for each in self.ward.processes
        )
        return later or not self.ward.wishes.desired.wants(process.name)

    def _massacre(self) -> None:
        for victim in self._spared(1):
            self._tell(f"{victim.name} is killed, with all others but one of its host")
            self.ward.kill(victim)

    def _pause(self) -> None:
        if victims := self._spared(1):
            victim = self.rng.choice(victims)
            seconds = self.rng.choice([0.5, 3.0, 12.0])
            victim.running, victim.well_from = False, ILL
            self._tell(f"{victim.name} is stopped for {seconds} s")
            self.ward.later(seconds, lambda: self._resume(victim))

    def _resume(self, victim: Process) -> None:
        victim.running, victim.well_from = True, self.ward.now + TIMING.lost

    def _hang(self) -> None:
        if victims := self._spared(1):
            victim = self.rng.choice(victims)
            victim.hung, victim.well_from = True, ILL
            self._tell(f"{victim.name} hangs")

    def _partition(self) -> None:
        hosts = hosts_of(self.ward.seeds)
        if len(hosts) < 2:
            return
        rng = self.rng
        apart = {(one, other) for one in hosts for other in hosts if one != other and rng.random() < 0.6}
        if rng.random() < 0.6:
            apart |= {(other, one) for one, other in apart}
        self.ward.net.cut = lambda sender, receiver: (sender, receiver) in apart
        self._tell(f"cut: {sorted(apart)}")
        self.ward.later(rng.uniform(1.0, 10.0), self._heal)

    def _heal(self) -> None:
        self.ward.net.cut = lambda _sender, _receiver: False

    def _operate(self) -> None:
        desired, rng = self.ward.wishes.desired, self.rng
        name = rng.choice(desired.names)
        if role_of(name) == "doctor":
            return
        value = "" if name in desired.held else STOPPED
        self._tell(f"the operator {'stops' if value else 'starts'} {name}")
        self.ward.wish(hold_key(name), value)

    def _calm_down(self) -> None:
        ward = self.ward
        self._heal()
        ward.net.loss, ward.net.double, ward.net.delay_s = 0.0, 0.0, (0.0005, 0.004)
        for process in ward.alive():
            if not process.running:
                self._resume(process)
        ward.calm_since = ward.now

    # --- checks

    def _check(self) -> None:
        ward = self.ward
        begun = ward.now
        bound = LEADER_BOUND_S + (0 if any(each.core is not None and each.acts for each in ward.alive()) else ROUSED_S)
        while not self._agreed() and ward.now - begun < bound and not ward.problem:
            ward.run(0.2)
        if not self._agreed():
            ward.problem = ward.problem or f"no leader within {bound:.0f} s: {self._stands()}"
            return
        self.outcome.leader_s = ward.now - begun
        self._settle(begun)
        self._check_return()
        if self.rng.random() < CRASH_LOOPS:
            self._check_crash_loop()

    def _settle(self, begun: float) -> None:
        """Until everything is as it should be and nothing moves any more."""
        ward = self.ward
        since, before = ward.now, self._snapshot()
        while ward.now - begun < SETTLED_S and not ward.problem:
            if ward.now - since > QUIET_S and self._settled():
                self.outcome.settled_s = since - begun
                return
            ward.run(0.5)
            if self._snapshot() != before:
                since, before = ward.now, self._snapshot()
        wrong = self._wrong() or f"restless: {self._told_since(QUIET_S)}"
        ward.problem = ward.problem or f"not settled within {SETTLED_S:.0f} s: {wrong}"

    def _snapshot(self) -> object:
        return {each.number for each in self.ward.alive()}, self._leader()

    def _check_return(self) -> None:
        """A leader that dies is followed by one other; when it comes back, it changes nothing, however high it is."""
        ward = self.ward
        spared = {each.number for each in self._spared(1)}
        leaders = [each for each in ward.alive() if each.core is not None and each.core.leads and each.number in spared]
        doctors = [each for each in ward.alive() if each.core is not None]
        if not leaders or len(doctors) < 2 or ward.problem:
            return
        ward.kill(leaders[0])
        begun = ward.now
        while not self._agreed() and ward.now - begun < LEADER_BOUND_S and not ward.problem:
            ward.run(0.2)
        elected = self._leader()
        ward.run(QUIET_S)
        if self._leader() != elected:
            ward.problem = ward.problem or f"flapping: the return of {leaders[0].name} made another leader"
        elif not self._settled():
            ward.problem = (
                ward.problem or f"{leaders[0].name}, which led, was killed: {self._wrong() or self._stands()}"
            )

    def _check_crash_loop(self) -> None:
        """A process crashes at each start: its restarts become rare, and go on. An operator need not wait for one."""
        ward, rng = self.ward, self.rng
        spared = {each.number for each in self._spared(1)}
        victims = [each for each in ward.alive() if role_of(each.name) != "doctor" and each.number in spared]
        if not victims or ward.problem:
            return
        victim, impatient = rng.choice(victims), rng.random() < 0.5
        self._tell(f"{victim.name} crashes at each start")
        before = len(ward.processes)
        ward.crashing.add(victim.name)
        ward.kill(victim)
        ward.run(CRASH_LOOP_S)
        starts = sum(each.name == victim.name for each in ward.processes[before:])
        if starts > MOST_STARTS:
            ward.problem = ward.problem or f"{victim.name} was started {starts} times in {CRASH_LOOP_S:.0f} s"
        ward.crashing.clear()
        if impatient:
            self._tell(f"the operator starts {victim.name}")
            ward.wish(hold_key(victim.name), "")
        ward.run(QUIET_S if impatient else CRASH_LOOP_S)
        if self._wrong():
            ward.problem = ward.problem or f"after a crash loop of {victim.name}: {self._wrong()}"

    def _leader(self) -> object:
        return {each.core.bully.epoch for each in self.ward.alive() if each.core is not None and each.acts}

    def _agreed(self) -> bool:
        doctors = [each for each in self.ward.alive() if each.core is not None and each.acts]
        leading = [each for each in doctors if each.core is not None and each.core.leads]
        told = {(each.core.bully.leader, each.core.bully.epoch) for each in doctors if each.core is not None}
        return len(leading) == 1 and len(told) == 1

    def _settled(self) -> bool:
        return self._agreed() and not self._wrong()

    def _wrong(self) -> str:
        desired = self.ward.wishes.desired
        alive = [each.name for each in self.ward.alive()]
        missing = [name for name in desired.names if desired.wants(name) and name not in alive]
        doubled = sorted({name for name in alive if alive.count(name) > 1})
        unwanted = [name for name in alive if not desired.wants(name)]
        hung = [each.name for each in self.ward.alive() if each.hung]
        parts = {"missing": missing, "doubled": doubled, "unwanted": unwanted, "hung": hung}
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names)

    def _stands(self) -> str:
        return ", ".join(
            f"{each.name} {each.core.bully.stand.value} {each.core.bully.leader}"
            for each in self.ward.alive()
            if each.core is not None
        )

    def _told_since(self, seconds: float) -> str:
        told = [
            f"{note.what} {note.name} {note.why}" for at, _, note in self.ward.notes if at >= self.ward.now - seconds
        ]
        return "; ".join(told[:6]) or self._stands()


def play(seed: int) -> Outcome:
    return Schedule(seed).play()
