"""Reachability of doctors and hosts, and the process lists that other hosts report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cauce.doctor.model.messages import Generation, ObservedProcess, ProcessList
from cauce.doctor.model.names import host_of
from cauce.doctor.model.process_table import Instance, ProcessTable

SETTLED_S = 2.0
"""Grace period before a process missing from its host's list counts as exited."""


@dataclass
class Connectivity:
    """Hosts and doctors as reachable from this doctor."""

    host: str
    processes: ProcessTable
    lost_s: float
    addresses: dict[str, str]
    _heard: dict[str, float] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)
    """Hosts that have reported their process list."""

    _reachable_since: dict[str, float] = field(default_factory=dict)

    def host_of(self, doctor: str) -> str:
        """The host of a doctor by its heartbeats; before the first one, by its name."""
        instance = self.processes.newest(doctor)
        return instance.host if instance is not None else host_of(doctor)

    def receive(self, now: float, doctor: str, address: str) -> None:
        host = self.host_of(doctor)
        if now - self.last_heard(host, now) > self.lost_s:
            self._reachable_since[host] = now
        self._heard[doctor] = now
        self.addresses[doctor] = address

    def reachable_since(self, host: str) -> float:
        """Since when the host is reachable. Silence before that time must not count as a timeout."""
        return self._reachable_since.get(host, 0.0)

    def last_heard(self, host: str, now: float) -> float:
        """When a doctor of the host was last heard. Our own host is always reachable."""
        if host == self.host:
            return now
        return max((at for doctor, at in self._heard.items() if self.host_of(doctor) == host), default=0.0)

    def doctor_on(self, host: str, now: float) -> str:
        """The most recently heard doctor of a reachable host that has reported its process list, or empty."""
        heard = [(at, each) for each, at in self._heard.items() if self.host_of(each) == host and self._is_alive(each)]
        at, doctor = max(heard, default=(0.0, ""))
        return doctor if host in self._reported and now - at <= self.lost_s else ""

    def _is_alive(self, doctor: str) -> bool:
        """Whether it has sent a heartbeat and its exit is not known. A requested launch does not count."""
        instance = self.processes.newest(doctor)
        return instance is not None and instance.alive and not instance.unconfirmed

    def addresses_of(self, doctors: list[str]) -> Mapping[str, str]:
        return {doctor: self.addresses[doctor] for doctor in doctors if doctor in self.addresses}

    def is_superseded(self, doctor: str, generation: Generation) -> bool:
        """Whether a message comes from an instance that has exited or is superseded."""
        instance = self.processes.find(doctor, generation)
        newest = self.processes.newest(doctor)
        return (instance is not None and not instance.alive) or (newest is not None and newest.generation > generation)

    def apply(self, now: float, listed: ProcessList) -> Iterator[Instance]:
        """Applies the process list of a host. Yields processes that are missing from it."""
        self._reported.add(listed.host)
        reported = {(seen.name, seen.generation) for seen in listed.processes}
        for seen in listed.processes:
            instance = self.processes.find(seen.name, seen.generation)
            if instance is None:
                instance = self.processes.add(Instance(seen.name, seen.generation, listed.host, now))
            if instance.exited_at is not None and now - instance.exited_at > SETTLED_S:
                instance.mark_alive()
            if instance.alive:
                instance.observe(seen, listed.host, now)
        for instance in list(self.processes.every()):
            settled = now - instance.last_heartbeat_at() > SETTLED_S
            expected = instance.alive and instance.host == listed.host and instance.seen and settled
            if expected and (instance.name, instance.generation) not in reported:
                yield instance

    def own_process_list(self) -> ProcessList:
        own = (each for each in self.processes.every() if each.alive and each.host == self.host)
        return ProcessList(self.host, [_observed(each) for each in own])


def _observed(instance: Instance) -> ObservedProcess:
    observed = instance.observed
    state = "T" if observed.stopped_since is not None else ""
    return ObservedProcess(
        instance.name, instance.generation, instance.pid, instance.start, state, observed.rss, observed.cpu_s
    )
