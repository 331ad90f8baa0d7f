"""The election of a leader among doctors, without I/O or clock: times and messages come in, messages go out.

Bully, with two things added. Every term of office is an epoch, which bears its leader's name and is above all that
its leader had heard of: of two leaders, the earlier one steps down when it hears of the later. And a higher doctor
that comes back follows whoever leads: the highest is elected only where there is no leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from cauce.doctor.acts import Send
from cauce.doctor.messages import Coordinator, Election, Epoch, Leader, Message, Ok
from cauce.doctor.names import order_of
from cauce.doctor.timing import Timing


class Stand(Enum):
    LISTENING = "listening"
    FOLLOWING = "following"
    ELECTING = "electing"
    WAITING = "waiting"
    LEADING = "leading"


class Bully:
    def __init__(self, me: str, peers: Iterable[str], timing: Timing, now: float, epoch: Epoch | None = None) -> None:
        """`epoch` is the latest that was ever heard of on this host."""
        self.me = me
        self.stand = Stand.LISTENING
        self.highest = epoch or Epoch()
        self.epoch = Epoch()
        """Whose leader we follow, or are."""
        self._timing = timing
        self._peers = {each for each in peers if each != me}
        self._gone: set[str] = set()
        """Peers that are known to be dead: nothing is expected of them."""
        self._buried = Epoch()
        """Up to here, epochs are over: their leaders are known to be dead."""
        self._answered: set[str] = set()
        self._oks: set[str] = set()
        self._heard = now
        """The last sign of life of the leader, by itself or by another who heard it."""
        self._direct = now - timing.leader_silence
        self._due = now + timing.listen
        self._announced = now

    @property
    def leader(self) -> str:
        return self.epoch.doctor if self.stand in (Stand.FOLLOWING, Stand.LEADING) else ""

    @property
    def leads(self) -> bool:
        return self.stand is Stand.LEADING

    def start(self, now: float) -> list[Send]:
        return self._listen(now, self._timing.listen)

    def set_peers(self, peers: Iterable[str]) -> None:
        self._peers = {each for each in peers if each != self.me}

    def tick(self, now: float) -> list[Send]:
        match self.stand:
            case Stand.LEADING if self.highest > self.epoch:
                # Somebody was elected after us: what we start now would be old before it is born.
                return self._listen(now, self._timing.ok)
            case Stand.LEADING if now - self._announced >= self._timing.announce:
                return self._announce(now)
            case Stand.FOLLOWING if now - self._heard > self._timing.leader_silence:
                # Others may hear the leader still: then it is our way to it that is broken.
                return self._listen(now, self._timing.ok)
            case Stand.LISTENING if now >= self._due or self._answered | self._gone >= self._peers:
                return self._elect(now)
            case Stand.ELECTING if now >= self._due or not self._higher():
                return self._win(now)
            case Stand.WAITING if now >= self._due or not self._oks - self._gone:
                return self._elect(now)
        return []

    def gone(self, now: float, peer: str) -> list[Send]:
        """A peer is known to be dead, not only silent."""
        if peer not in self._peers:
            return []
        self._gone.add(peer)
        if self.highest.doctor == peer:
            self._buried = max(self._buried, self.highest)
        if self.epoch.doctor == peer:
            self._buried = max(self._buried, self.epoch)
        if self.stand is Stand.FOLLOWING and self.epoch.doctor == peer:
            return self._elect(now)
        return self.tick(now)

    def hear(self, now: float, sender: str, message: Message) -> list[Send]:
        if sender not in self._peers:
            return []
        self._gone.discard(sender)
        match message:
            case Election(epoch):
                self.note(epoch)
                return self._asked_to_elect(now, sender)
            case Ok(epoch):
                self.note(epoch)
                if self.stand is Stand.ELECTING:
                    self.stand, self._due = Stand.WAITING, now + self._timing.coordinator
                self._oks.add(sender)
            case Coordinator(epoch):
                return self._told(now, sender, epoch, sender)
            case Leader(epoch, doctor, asking):
                replies = self._told(now, sender, epoch, doctor) if doctor else self._knows_none(sender, epoch)
                return [*replies, *([Send(sender, self._word(now))] if asking and not replies else [])]
        return []

    def note(self, epoch: Epoch) -> None:
        """An epoch that was heard of, in whatever way."""
        self.highest = max(self.highest, epoch)

    def _word(self, now: float) -> Leader:
        """The leader as we know it first hand."""
        fresh = self.leads or now - self._direct <= self._timing.leader_silence / 2
        return Leader(self.epoch, self.leader) if self.leader and fresh else Leader(self.highest)

    def _told(self, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        """Somebody leads, says a sender who is the leader or has just heard it."""
        self.note(epoch)
        if epoch <= self._buried and sender != leader:
            return []
        if leader == self.me:
            # An earlier life of ours, if we do not lead in that very epoch.
            return []
        if epoch < self.epoch and self.leader:
            word = self._word(now)
            return [Send(sender, word)] if word.doctor else []
        if epoch < self.epoch:
            return []
        self.epoch, self.stand, self._heard = epoch, Stand.FOLLOWING, now
        if sender == leader:
            self._direct = now
        return []

    def _knows_none(self, sender: str, epoch: Epoch) -> list[Send]:
        self.note(epoch)
        self._answered.add(sender)
        if self.leads:
            return [Send(sender, Leader(self.epoch, self.me))]
        return []

    def _asked_to_elect(self, now: float, sender: str) -> list[Send]:
        if self.leads:
            return [Send(sender, Leader(self.epoch, self.me))]
        replies: list[Send] = []
        if order_of(sender) < order_of(self.me):
            replies.append(Send(sender, Ok(self.highest)))
        word = self._word(now)
        if word.doctor:
            replies.append(Send(sender, word))
        elif self.stand is Stand.FOLLOWING:
            replies += self._listen(now, self._timing.ok)
        return replies

    def _higher(self) -> list[str]:
        return sorted(each for each in self._peers - self._gone if order_of(each) > order_of(self.me))

    def _listen(self, now: float, time_s: float) -> list[Send]:
        self.stand, self._due, self._answered = Stand.LISTENING, now + time_s, set()
        return [Send(peer, Leader(self.highest, "", True)) for peer in sorted(self._peers)]

    def _elect(self, now: float) -> list[Send]:
        higher = self._higher()
        if not higher:
            return self._win(now)
        self.stand, self._due, self._oks = Stand.ELECTING, now + self._timing.ok, set()
        return [Send(each, Election(self.highest)) for each in higher]

    def _win(self, now: float) -> list[Send]:
        self.epoch = Epoch(max(self.highest, self.epoch).number + 1, self.me)
        self.note(self.epoch)
        self.stand, self._announced = Stand.LEADING, now
        return [Send(peer, Coordinator(self.epoch)) for peer in sorted(self._peers)]

    def _announce(self, now: float) -> list[Send]:
        self._announced = now
        return [Send(peer, Leader(self.epoch, self.me)) for peer in sorted(self._peers)]
