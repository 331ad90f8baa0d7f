"""Doctors under simulated faults: a seed decides the cluster, the network, and which process is hit when.

After the faults there must be one leader within a bound, every desired process must run once, no process that an
operator stopped may run, and then the cluster must be stable. A process in a crash loop is restarted with backoff,
and recovers without intervention once it no longer crashes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.doctor.model.actions import Signal, StartProcess
from cauce.doctor.model.desired_state import RING, RUNNING, STOPPED, WATCH, count_key, hold_key
from cauce.doctor.model.names import Role, host_of, name_of, role_of
from cauce.doctor.model.timing import Timing
from cauce.lab.chaos.simulated import NEVER, Process
from cauce.lab.chaos.simulated_cluster import SimulatedCluster, hosts_of

TIMING = Timing(paused=4.0, hung=10.0, start=10.0, lost=3.0)
FAULTS_S = (10.0, 30.0)
LEADER_BOUND_S = 8.0
"""From the end of all faults until all doctors agree on a leader, if a doctor is alive."""
DOCTOR_START_S = 8.0
"""Additional time if none is alive and one must be started."""
SETTLED_S = 30.0
"""From the end of all faults until all processes run; covers the timeouts for hung and lost processes."""
QUIET_S = 6.0
"""How long nothing may change before a cluster counts as stable."""
MANAGER_S = 3.0
CRASH_LOOPS = 0.3
"""The share of schedules that end with a crash loop."""
CRASH_LOOP_S = 20.0
MOST_STARTS = 12
"""Highest number of starts in a crash loop; without backoff there would be about sixty."""
HEARD_S = 1.0
"""Until every doctor has received a change of the desired state."""


@dataclass
class DoctorScheduleResult:
    seed: int
    what: str
    faults: list[str] = field(default_factory=list)
    problem: str = ""
    leader_s: float = 0.0
    settled_s: float = 0.0


class _CheckedCluster(SimulatedCluster):
    """A cluster that checks the invariants of starts and signals."""

    faultless_since = float("inf")
    worst_loss = 0.0

    def on_fork(self, process: Process, fork: StartProcess) -> None:
        if fork.name in self.desired.state.held and self.now - self.faultless_since > HEARD_S:
            self.problem = f"{process.name} starts {fork.name}, which an operator stopped"

    def on_signal(self, process: Process, victim: Process, signal: Signal) -> None:
        desired = self.desired.state
        newer = any(each.name == victim.name and each.who.generation > victim.who.generation for each in self.processes)
        healthy = desired.should_run(victim.name) and not newer and victim.acts and self.now >= victim.healthy_from
        # If a third of all messages is lost, all heartbeats of a process may be lost for a while.
        if healthy and len(hosts_of(self.seeds)) == 1 and self.worst_loss < 0.1:
            self.problem = f"{process.name} stops {victim.name}, which is healthy"


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
        self.cluster = _CheckedCluster(rng, TIMING, doctors)
        self.outcome = DoctorScheduleResult(
            seed, f"{len(doctors)} doctors on {len(set(places))} hosts{', ring' * self.ring}"
        )
        for (role, host), count in counts.items():
            self.cluster.set_desired(count_key(role, host), str(count))
        self.cluster.set_desired(WATCH, RING if self.ring else "star")
        self.cluster.set_desired(RUNNING, "yes")
        for name in doctors:
            host = name.partition("@")[2]
            self.cluster.begin(name, self.cluster.first(host), host=host)
        self.cluster.later(MANAGER_S, self._manage)

    def play(self) -> DoctorScheduleResult:
        self.cluster.run(self.rng.uniform(2.0, 8.0))
        self._inject_faults(self.rng.uniform(*FAULTS_S))
        self._end_faults()
        if not self.cluster.problem:
            self._check()
        self.outcome.problem = self.cluster.problem or self.outcome.problem
        return self.outcome

    def _manage(self) -> None:
        """Acts as a service manager: starts a doctor on every host without an active process."""
        active = {each.who.host for each in self.cluster.alive() if each.acts}
        for host in hosts_of(self.cluster.seeds):
            if host not in active:
                name = min(name for name in self.cluster.seeds if host_of(name) == host)
                self.cluster.begin(name, self.cluster.first(host), host=host)
        self.cluster.later(MANAGER_S, self._manage)

    # --- faults

    def _inject_faults(self, seconds: float) -> None:
        cluster, rng = self.cluster, self.rng
        cluster.net.loss = cluster.worst_loss = rng.choice([0.0, 0.05, 0.3])
        cluster.net.double = rng.choice([0.0, 0.2])
        cluster.net.delay_s = rng.choice([(0.0005, 0.004), (0.0, 0.3), (0.0, 2.0)])
        end = cluster.now + seconds
        while cluster.now < end and not cluster.problem:
            self._inject_fault()
            cluster.run(rng.expovariate(1.0) + 0.05)

    def _inject_fault(self) -> None:
        rng = self.rng
        kinds: list[tuple[Callable[[], None], int]] = [
            (self._kill, 6),
            (self._pause, 4),
            (self._hang, 1),
            (self._partition, 3),
            (self._operate, 2),
            (self._kill_all_but_one, 1),
        ]
        choices, weights = zip(*kinds, strict=True)
        rng.choices(choices, weights)[0]()

    def _log_fault(self, what: str) -> None:
        self.outcome.faults.append(f"{self.cluster.now:7.2f} s  {what}")

    def _victims(self) -> list[Process]:
        return [each for each in self.cluster.alive() if each.running]

    def _kill(self) -> None:
        if victims := self._killable(1):
            victim = self.rng.choice(victims)
            self._log_fault(f"{victim.name} is killed")
            self.cluster.kill(victim)

    def _killable(self, count: int) -> list[Process]:
        """Processes that may be hit: on every host `count` stay, or nothing could recover the host."""
        left: list[Process] = []
        for host in hosts_of(self.cluster.seeds):
            own = [each for each in self._victims() if each.who.host == host and not each.hung]
            self.rng.shuffle(own)
            own.sort(key=self._will_exit)
            left += own[count:]
        return left

    def _will_exit(self, process: Process) -> bool:
        """Whether it will exit by itself, so that it cannot be the one that stays."""
        later = any(
            each.name == process.name and each.who.generation > process.who.generation
            for each in self.cluster.processes
        )
        return later or not self.cluster.desired.state.should_run(process.name)

    def _kill_all_but_one(self) -> None:
        for victim in self._killable(1):
            self._log_fault(f"{victim.name} is killed, with all others but one of its host")
            self.cluster.kill(victim)

    def _pause(self) -> None:
        if victims := self._killable(1):
            victim = self.rng.choice(victims)
            seconds = self.rng.choice([0.5, 3.0, 12.0])
            victim.running, victim.healthy_from = False, NEVER
            self._log_fault(f"{victim.name} is stopped for {seconds} s")
            self.cluster.later(seconds, lambda: self._resume(victim))

    def _resume(self, victim: Process) -> None:
        victim.running, victim.healthy_from = True, self.cluster.now + TIMING.lost

    def _hang(self) -> None:
        if victims := self._killable(1):
            victim = self.rng.choice(victims)
            victim.hung, victim.healthy_from = True, NEVER
            self._log_fault(f"{victim.name} hangs")

    def _partition(self) -> None:
        hosts = hosts_of(self.cluster.seeds)
        if len(hosts) < 2:
            return
        rng = self.rng
        apart = {(one, other) for one in hosts for other in hosts if one != other and rng.random() < 0.6}
        if rng.random() < 0.6:
            apart |= {(other, one) for one, other in apart}
        self.cluster.net.cut = lambda sender, receiver: (sender, receiver) in apart
        self._log_fault(f"partition: {sorted(apart)}")
        self.cluster.later(rng.uniform(1.0, 10.0), self._heal)

    def _heal(self) -> None:
        self.cluster.net.cut = lambda _sender, _receiver: False

    def _operate(self) -> None:
        desired, rng = self.cluster.desired.state, self.rng
        name = rng.choice(desired.names)
        if role_of(name) == "doctor":
            return
        value = "" if name in desired.held else STOPPED
        self._log_fault(f"the operator {'stops' if value else 'starts'} {name}")
        self.cluster.set_desired(hold_key(name), value)

    def _end_faults(self) -> None:
        cluster = self.cluster
        self._heal()
        cluster.net.loss, cluster.net.double, cluster.net.delay_s = 0.0, 0.0, (0.0005, 0.004)
        for process in cluster.alive():
            if not process.running:
                self._resume(process)
        cluster.faultless_since = cluster.now

    # --- checks

    def _check(self) -> None:
        cluster = self.cluster
        started = cluster.now
        bound = LEADER_BOUND_S + (
            0 if any(each.core is not None and each.acts for each in cluster.alive()) else DOCTOR_START_S
        )
        while not self._agreed() and cluster.now - started < bound and not cluster.problem:
            cluster.run(0.2)
        if not self._agreed():
            cluster.problem = cluster.problem or f"no leader within {bound:.0f} s: {self._leader_views()}"
            return
        self.outcome.leader_s = cluster.now - started
        self._settle(started)
        self._check_return()
        if self.rng.random() < CRASH_LOOPS:
            self._check_crash_loop()

    def _settle(self, started: float) -> None:
        """Runs until actual and desired state agree and nothing changes any more."""
        cluster = self.cluster
        since, before = cluster.now, self._snapshot()
        while cluster.now - started < SETTLED_S and not cluster.problem:
            if cluster.now - since > QUIET_S and self._settled():
                self.outcome.settled_s = since - started
                return
            cluster.run(0.5)
            if self._snapshot() != before:
                since, before = cluster.now, self._snapshot()
        wrong = self._wrong() or f"unstable: {self._events_since(QUIET_S)}"
        cluster.problem = cluster.problem or f"not settled within {SETTLED_S:.0f} s: {wrong}"

    def _snapshot(self) -> object:
        return {each.number for each in self.cluster.alive()}, self._leader()

    def _check_return(self) -> None:
        """After a crash of the leader one other is elected; the restarted one follows it, however high it is."""
        cluster = self.cluster
        killable = {each.number for each in self._killable(1)}
        leaders = [
            each for each in cluster.alive() if each.core is not None and each.core.leads and each.number in killable
        ]
        doctors = [each for each in cluster.alive() if each.core is not None]
        if not leaders or len(doctors) < 2 or cluster.problem:
            return
        cluster.kill(leaders[0])
        started = cluster.now
        while not self._agreed() and cluster.now - started < LEADER_BOUND_S and not cluster.problem:
            cluster.run(0.2)
        elected = self._leader()
        cluster.run(QUIET_S)
        if self._leader() != elected:
            cluster.problem = cluster.problem or f"flapping: the return of {leaders[0].name} caused another election"
        elif not self._settled():
            cluster.problem = (
                cluster.problem or f"the leader {leaders[0].name} was killed: {self._wrong() or self._leader_views()}"
            )

    def _check_crash_loop(self) -> None:
        """A process crashes at each start: it is restarted with backoff. An operator can start it at once."""
        cluster, rng = self.cluster, self.rng
        killable = {each.number for each in self._killable(1)}
        victims = [each for each in cluster.alive() if role_of(each.name) != "doctor" and each.number in killable]
        if not victims or cluster.problem:
            return
        victim, impatient = rng.choice(victims), rng.random() < 0.5
        self._log_fault(f"{victim.name} crashes at each start")
        before = len(cluster.processes)
        cluster.crashing.add(victim.name)
        cluster.kill(victim)
        cluster.run(CRASH_LOOP_S)
        starts = sum(each.name == victim.name for each in cluster.processes[before:])
        if starts > MOST_STARTS:
            cluster.problem = cluster.problem or f"{victim.name} was started {starts} times in {CRASH_LOOP_S:.0f} s"
        cluster.crashing.clear()
        if impatient:
            self._log_fault(f"the operator starts {victim.name}")
            cluster.set_desired(hold_key(victim.name), "")
        cluster.run(QUIET_S if impatient else CRASH_LOOP_S)
        if self._wrong():
            cluster.problem = cluster.problem or f"after a crash loop of {victim.name}: {self._wrong()}"

    def _leader(self) -> object:
        return {each.core.bully.epoch for each in self.cluster.alive() if each.core is not None and each.acts}

    def _agreed(self) -> bool:
        doctors = [each for each in self.cluster.alive() if each.core is not None and each.acts]
        leading = [each for each in doctors if each.core is not None and each.core.leads]
        views = {(each.core.bully.leader, each.core.bully.epoch) for each in doctors if each.core is not None}
        return len(leading) == 1 and len(views) == 1

    def _settled(self) -> bool:
        return self._agreed() and not self._wrong()

    def _wrong(self) -> str:
        desired = self.cluster.desired.state
        alive = [each.name for each in self.cluster.alive()]
        missing = [name for name in desired.names if desired.should_run(name) and name not in alive]
        doubled = sorted({name for name in alive if alive.count(name) > 1})
        unwanted = [name for name in alive if not desired.should_run(name)]
        hung = [each.name for each in self.cluster.alive() if each.hung]
        parts = {"missing": missing, "doubled": doubled, "unwanted": unwanted, "hung": hung}
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names)

    def _leader_views(self) -> str:
        return ", ".join(
            f"{each.name} {each.core.bully.state.value} {each.core.bully.leader}"
            for each in self.cluster.alive()
            if each.core is not None
        )

    def _events_since(self, seconds: float) -> str:
        events = [
            f"{note.what} {note.name} {note.reason}"
            for at, _, note in self.cluster.notes
            if at >= self.cluster.now - seconds
        ]
        return "; ".join(events[:6]) or self._leader_views()


def play(seed: int) -> DoctorScheduleResult:
    return Schedule(seed).play()
