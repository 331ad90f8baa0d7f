"""Which doctors can be reached, where, and since when; and what other hosts say of the processes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cauce.doctor.lives import Life, Roster
from cauce.doctor.messages import Census, Incarnation, Seen
from cauce.doctor.names import host_of

SETTLED_S = 2.0
"""From when on a life that its own host does not tell of counts as ended."""


@dataclass
class Reach:
    host: str
    roster: Roster
    lost_s: float
    addresses: dict[str, str]
    _heard: dict[str, float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    """Hosts that have said who lives there."""

    _since: dict[str, float] = field(default_factory=dict)

    def host_of(self, doctor: str) -> str:
        """Where a doctor runs, as it says itself; until then, as its name says."""
        life = self.roster.newest(doctor)
        return life.host if life is not None else host_of(doctor)

    def hear(self, now: float, doctor: str, address: str) -> None:
        host = self.host_of(doctor)
        if now - self.last(host, now) > self.lost_s:
            self._since[host] = now
        self._heard[doctor] = now
        self.addresses[doctor] = address

    def since(self, host: str) -> float:
        """Since when the host has been within reach: nobody there could be heard before."""
        return self._since.get(host, 0.0)

    def last(self, host: str, now: float) -> float:
        """When a doctor of the host was last heard. Our own host is always within reach."""
        if host == self.host:
            return now
        return max((at for doctor, at in self._heard.items() if self.host_of(doctor) == host), default=0.0)

    def helper(self, host: str, now: float) -> str:
        """The doctor of a host that was heard last, once it has told who lives there; empty if there is none."""
        heard = [(at, each) for each, at in self._heard.items() if self.host_of(each) == host and self._lives(each)]
        at, doctor = max(heard, default=(0.0, ""))
        return doctor if host in self._told and now - at <= self.lost_s else ""

    def _lives(self, doctor: str) -> bool:
        """Whether it has given a sign of life and its end is not known. One that was only asked for is nobody yet."""
        life = self.roster.newest(doctor)
        return life is not None and life.alive and not life.unborn

    def known(self, doctors: list[str]) -> Mapping[str, str]:
        return {doctor: self.addresses[doctor] for doctor in doctors if doctor in self.addresses}

    def is_old(self, doctor: str, incarnation: Incarnation) -> bool:
        """Whether a message is of a life that is over, or will be as soon as its owner learns of a later one."""
        life = self.roster.find(doctor, incarnation)
        newest = self.roster.newest(doctor)
        return (life is not None and not life.alive) or (newest is not None and newest.incarnation > incarnation)

    def take(self, now: float, census: Census) -> Iterator[Life]:
        """What a host tells of its processes. Gives those that it should know of and does not."""
        self._told.add(census.host)
        told = {(seen.name, seen.incarnation) for seen in census.lives}
        for seen in census.lives:
            life = self.roster.find(seen.name, seen.incarnation)
            if life is None:
                life = self.roster.add(Life(seen.name, seen.incarnation, census.host, now))
            if life.ended is not None and now - life.ended > SETTLED_S:
                life.rise()
            if life.alive:
                life.host = census.host
                life.look(seen, now)
        for life in list(self.roster.every()):
            known = life.heard is not None or life.vouched is not None
            there = life.alive and life.host == census.host and now - life.last_sign() > SETTLED_S
            if there and known and (life.name, life.incarnation) not in told:
                yield life

    def census(self) -> Census:
        return Census(self.host, [_seen(each) for each in self.roster.every() if each.alive and each.host == self.host])


def _seen(life: Life) -> Seen:
    state = "T" if life.stopped is not None else ""
    return Seen(life.name, life.incarnation, life.pid, life.start, state, life.rss, life.cpu_s)
