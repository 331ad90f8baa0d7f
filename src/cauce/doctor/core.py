"""A doctor without I/O or clock: times, messages and ends of processes come in, acts go out.

The process around it and the simulation run this very code. It may be wrong about who lives; nothing but the speed of
recovery may depend on its being right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cauce.doctor.acts import Act, Follow, Fork, Leave, Note, Record, Send, Signal
from cauce.doctor.bully import Bully
from cauce.doctor.clock import AttentiveClock
from cauce.doctor.desired import RING, RUNNING, Wish, Wished, Wishes, released
from cauce.doctor.keeper import Keeper
from cauce.doctor.lives import Life, Roster
from cauce.doctor.messages import (
    Ack,
    Beat,
    Cause,
    Census,
    Died,
    Epoch,
    Incarnation,
    Kill,
    Launch,
    Leader,
    Message,
    Seen,
)
from cauce.doctor.names import role_of
from cauce.doctor.obituary import Obituary
from cauce.doctor.patient import Facts, Patient
from cauce.doctor.reach import Reach
from cauce.doctor.ring import watch_of
from cauce.doctor.timing import Timing

CENSUS_S = 1.0
GHOST_S = 3.0
"""Who is heard so long after its end lives after all: it was believed dead by hearsay."""


@dataclass(frozen=True)
class Self:
    """Who a process is."""

    name: str
    host: str
    incarnation: Incarnation
    pid: int
    start: int
    restarts: int = 0


class Core:
    def __init__(self, who: Self, timing: Timing, time_s: float, doctors: Mapping[str, str], epoch: Epoch) -> None:
        """`doctors` and their addresses, as far as they are known; `epoch` is the latest heard of on this host."""
        self.who = who
        self.roster = Roster()
        self.wishes = Wishes()
        self.bully = Bully(who.name, doctors, timing, 0.0, epoch)
        self.reach = Reach(who.host, self.roster, timing.lost, dict(doctors))
        self.keeper = Keeper(who.name, who.host, timing, self.roster, self.wishes, self.reach)
        self.patient = Patient(
            who.name, who.host, who.incarnation, who.pid, who.start, who.restarts, dict(doctors), timing, rouses=False
        )
        self._clock = AttentiveClock(timing.stride)
        self._clock.advance(time_s)
        self._obituary = Obituary(self.keeper, 2 * timing.leader_silence)
        self._census_due = 0.0
        self._led = Epoch()
        self._own = self.roster.add(Life(who.name, who.incarnation, who.host, 0.0, who.pid, who.start))
        self._own.heard, self._own.ready, self._own.restarts = 0.0, True, who.restarts

    @property
    def leads(self) -> bool:
        return self.bully.leads

    @property
    def now(self) -> float:
        return self._clock.now

    @property
    def _stopping(self) -> bool:
        return self.wishes.desired.known and not self.wishes.desired.running

    def start(self, time_s: float, survivors: Iterable[Seen]) -> list[Act]:
        """`survivors` are processes of this host that were found alive."""
        now = self._clock.advance(time_s)
        acts = [act for seen in survivors for act in self._found(now, seen)]
        return [*acts, *self.bully.start(now)]

    def tick(self, time_s: float, facts: Facts) -> list[Act]:
        now = self._clock.advance(time_s)
        self._own.heard = self._own.progressed = now
        self._own.rss, self._own.work = facts.rss, facts.work
        acts = [*self.patient.tick(time_s, facts)]
        if not self._stopping:
            acts += [*self._elect(now, self.bully.tick(now)), *self._lead(now)]
        acts += [*self._wind_down(now), *self._tell_census(now)]
        self._obituary.drop(now)
        self.roster.forget(now)
        return acts

    def wished(self, time_s: float, wishes: Iterable[Wish]) -> list[Act]:
        now = self._clock.advance(time_s)
        fresh = list(wishes)
        changed = self.wishes.add(fresh)
        if not changed:
            return []
        for name in map(released, changed):
            if name:
                self.keeper.retry(name, now)
        self.bully.set_peers(self.doctors())
        # Told on before anything is done about it: nobody is to undo what another does.
        told = [Send(peer, Wished(fresh)) for peer in self._peers()]
        return [*told, *self._wind_down(now), *self._lead(now)]

    def stop(self, time_s: float, why: str) -> list[Act]:
        """All of it is to end, by a doctor's own judgement."""
        if self._stopping:
            return []
        wish = self.wishes.next(RUNNING, "no", self.who.name, why)
        return [Record(wish), *self.wished(time_s, [wish])]

    def forked(self, name: str, incarnation: Incarnation, pid: int, start: int) -> list[Act]:
        """Own children are followed in any case: only their parent hears how they ended."""
        life = self.roster.find(name, incarnation)
        if life is None:
            return []
        life.pid, life.start = pid, start
        return [Follow(name, incarnation, pid, start)]

    def twin(self, name: str, incarnation: Incarnation, pid: int) -> None:
        """A child of ours found its incarnation begun by another's: that one lives, and will be heard of."""
        life = self.roster.find(name, incarnation)
        if life is not None and life.pid == pid:
            life.pid = life.start = 0

    def looked(self, time_s: float, seen: Iterable[Seen]) -> list[Act]:
        """What the kernel shows of this host's processes. Who is not among them has ended, whoever failed to say so."""
        now = self._clock.advance(time_s)
        found = {(each.name, each.incarnation): each for each in seen}
        acts: list[Act] = []
        for life in self.own_lives():
            if life.pid and (life.name, life.incarnation) not in found:
                acts += self.exited(time_s, life.name, life.incarnation)
        for each in found.values():
            acts += self._found(now, each)
        return acts

    def _found(self, now: float, seen: Seen) -> list[Act]:
        """A process of this host lives, whatever was believed of it."""
        life = self.roster.find(seen.name, seen.incarnation)
        unknown = life is None or not life.alive
        if life is None:
            life = self.roster.add(Life(seen.name, seen.incarnation, self.who.host, now))
            self.bully.note(seen.incarnation.epoch)
        elif not life.alive:
            life.rise()
        life.look(seen, now)
        return self._follow(life) if unknown else []

    def own_lives(self) -> list[Life]:
        """Those on this host."""
        return [each for each in self.roster.every() if each.alive and each.host == self.who.host]

    def exited(self, time_s: float, name: str, incarnation: Incarnation, cause: Cause | None = None) -> list[Act]:
        """A process of this host has ended."""
        now = self._clock.advance(time_s)
        reports = [Send(peer, Died(name, incarnation, cause or Cause())) for peer in self._peers()]
        return [*reports, *self._ended(now, name, incarnation, cause or Cause(), "its end was seen at once")]

    def hear(self, time_s: float, sender: str, incarnation: Incarnation, address: str, message: Message) -> list[Act]:
        now = self._clock.advance(time_s)
        match message:
            case Beat():
                return self._beat(now, sender, address, message)
            case Ack():
                return self.patient.hear(sender, message)
            case Died():
                return self._reported(now, message)
            case _ if role_of(sender) != "doctor" or self.reach.is_old(sender, incarnation):
                return []
        self.reach.hear(now, sender, address)
        match message:
            case Launch(epoch) | Kill(epoch) if epoch < self.bully.highest:
                # An old leader's word: nothing is done, and it is told who leads.
                return list(self.bully.hear(now, sender, Leader(epoch, sender)))
            case Launch():
                return self._asked_to_launch(now, sender, message)
            case Kill():
                return self._asked_to_kill(sender, message)
            case Census():
                return self._take_census(now, message)
            case Wished(wishes):
                return self.wished(time_s, wishes)
        return self._elect(now, self.bully.hear(now, sender, message))

    def doctors(self) -> list[str]:
        return self.wishes.desired.doctors() or sorted(self.patient.doctors)

    def _peers(self) -> list[str]:
        return [name for name in self.doctors() if name != self.who.name]

    def _beat(self, now: float, sender: str, address: str, beat: Beat) -> list[Act]:
        acts: list[Act] = []
        life = self.roster.find(sender, beat.incarnation)
        if life is None:
            life = self.roster.add(Life(sender, beat.incarnation, beat.host, now, beat.pid, beat.start))
            acts += self._follow(life)
        if life.ended is not None and now - life.ended > GHOST_S and beat.seq > life.seq:
            life.rise()
            acts += self._follow(life)
        self.roster.forget_unborn(sender, beat.incarnation)
        newest = self.roster.newest(sender) or life
        past = self.roster.past(sender)
        past.restarts = max(past.restarts, beat.restarts + 1)
        if life.alive:
            life.take(beat, now)
            if life is newest:
                acts += self._heard(now, life, address)
        self.bully.note(max(beat.epoch, newest.incarnation.epoch))
        acts += self.patient.hear(sender, beat)
        return [*acts, Send(sender, self._ack(sender, newest.incarnation), address)]

    def _heard(self, now: float, life: Life, address: str) -> list[Act]:
        self.reach.addresses[life.name] = address
        if role_of(life.name) == "doctor":
            self.reach.hear(now, life.name, address)
        past = self.roster.past(life.name)
        if not life.ready or past.died is None:
            return []
        after_s, past.died = now - past.died, None
        note = Note("caught up", life.name, life.incarnation, life.work, after_s=after_s)
        return self._obituary.in_turn([note], now) if self.leads else []

    def _ack(self, name: str, newest: Incarnation) -> Ack:
        epoch = self.bully.epoch if self.bully.leader else Epoch()
        watch = watch_of(name, self.wishes.desired, self.roster, self.reach.addresses) if self.leads else None
        return Ack(epoch, newest, dict(self.reach.known(self.doctors())), watch)

    def _reported(self, now: float, died: Died) -> list[Act]:
        if not died.silent:
            return self._ended(now, died.name, died.incarnation, died.cause, "its end was reported")
        life = self.roster.find(died.name, died.incarnation)
        if life is not None:
            life.suspected = True
        return []

    def _asked_to_launch(self, now: float, sender: str, asked: Launch) -> list[Act]:
        known = self.roster.find(asked.name, asked.incarnation)
        if known is not None:
            return [] if known.alive else [Send(sender, Died(asked.name, asked.incarnation))]
        newest = self.roster.newest(asked.name)
        if (newest is not None and newest.incarnation > asked.incarnation) or not self.wishes.desired.wants(asked.name):
            return []
        self.roster.add(Life(asked.name, asked.incarnation, self.who.host, now, restarts=asked.restarts))
        return [Fork(asked.name, asked.incarnation, asked.restarts)]

    def _asked_to_kill(self, sender: str, asked: Kill) -> list[Act]:
        life = self.roster.find(asked.name, asked.incarnation)
        if life is None or not life.alive:
            return [Send(sender, Died(asked.name, asked.incarnation, Cause(None, "it does not live on its host")))]
        life.why, life.wanted_end = asked.why, asked.how == "term"
        return [Signal(asked.name, asked.incarnation, asked.how)]

    def _take_census(self, now: float, census: Census) -> list[Act]:
        for each in census.lives:
            self.bully.note(each.incarnation.epoch)
        cause = Cause(None, "its host no longer knows of it")
        missing = list(self.reach.take(now, census))
        return [
            act for life in missing for act in self._ended(now, life.name, life.incarnation, cause, "told by its host")
        ]

    def _ended(self, now: float, name: str, incarnation: Incarnation, cause: Cause, how: str) -> list[Act]:
        life = self.roster.find(name, incarnation)
        if life is None:
            return []
        if not life.alive:
            self._obituary.learn(life, cause)
            return self._lead(now)
        if life.why and (cause.code or -1) < 0:
            cause = Cause(cause.code, life.why, cause.last)
        self.keeper.bury(life, now, cause)
        self._obituary.add(life, cause, now, how)
        gone = role_of(name) == "doctor" and self.roster.newest(name) is life and not self._stopping
        elected = self._elect(now, self.bully.gone(now, name)) if gone else []
        return [*elected, *self._lead(now)]

    def _elect(self, now: float, sends: Sequence[Send]) -> list[Act]:
        """What the election says; and what follows if it has made us the leader."""
        if not self.leads or self._led == self.bully.epoch:
            return list(sends)
        self._led, self.keeper.launches = self.bully.epoch, 0
        note = Note("elected", self.who.name, self.who.incarnation, f"epoch {self._led.number}")
        return [*sends, note, *self._lead(now)]

    def _lead(self, now: float) -> list[Act]:
        if not self.leads:
            return []
        ack = self._ack(self.who.name, self.who.incarnation)
        place = self.patient.hear(self.who.name, ack)
        deaths = self._obituary.publish(now)
        return [*deaths, *place, *self._obituary.in_turn(self.keeper.plan(now, self.bully.epoch), now)]

    def _wind_down(self, now: float) -> list[Act]:
        """When all is to stop, each doctor ends its own host's processes, and then itself: that needs no leader."""
        desired = self.wishes.desired
        if not desired.known or desired.wants(self.who.name):
            return []
        if desired.running:
            return [Leave(False, "it is not wanted any more")]
        patients = [each for each in self.own_lives() if role_of(each.name) != "doctor"]
        acts: list[Act] = []
        for life in patients:
            acts += self.keeper.end(life, now, self.bully.epoch, "term", "the service is being stopped", wanted=True)
        return acts if patients else [Leave(False, "the service has been stopped")]

    def _tell_census(self, now: float) -> list[Act]:
        others = [peer for peer in self._peers() if self.reach.host_of(peer) != self.who.host]
        if not others or now < self._census_due:
            return []
        self._census_due = now + CENSUS_S
        return [Send(peer, self.reach.census()) for peer in others]

    def _follow(self, life: Life) -> list[Act]:
        """In a star every doctor sees every end on its host; in a ring, those of doctors and of whom it looks after."""
        if life.host != self.who.host or not life.pid:
            return []
        if self.wishes.desired.watch == RING and role_of(life.name) != "doctor":
            return []
        return [Follow(life.name, life.incarnation, life.pid, life.start)]
