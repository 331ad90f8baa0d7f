"""Leader election among doctors as a state machine without I/O or clock: times and messages in, messages out.

The bully algorithm with two additions. Every term has an epoch, which contains the leader's name and is higher than all
epochs known to it: of two leaders, the one with the lower epoch steps down when it learns of the other. And a higher
doctor that returns follows the current leader: there is an election only if there is no leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from cauce.doctor.model.actions import Send
from cauce.doctor.model.messages import Coordinator, Election, Epoch, Leader, Message, Ok
from cauce.doctor.model.names import order_of
from cauce.doctor.model.timing import Timing


class ElectionState(Enum):
    LISTENING = "listening"
    FOLLOWING = "following"
    ELECTING = "electing"
    WAITING = "waiting"
    LEADING = "leading"


@dataclass
class _Round:
    """One round of questions to the other doctors: its deadline, and the doctors that have replied."""

    due: float
    answered: set[str] = field(default_factory=set)
    """Doctors that replied that they know no leader."""
    oks: set[str] = field(default_factory=set)
    """Higher doctors that take over the election."""


class Bully:
    """Election state of one doctor."""

    def __init__(
        self, own_name: str, peers: Iterable[str], timing: Timing, now: float, epoch: Epoch | None = None
    ) -> None:
        """`epoch` is the highest one known on this host."""
        self.own_name = own_name
        self.state = ElectionState.LISTENING
        self.highest = epoch or Epoch()
        self.epoch = Epoch()
        """The current epoch, in which we follow or lead."""
        self._timing = timing
        self._peers = {each for each in peers if each != own_name}
        self._exited_peers: set[str] = set()
        """Peers known to have exited: no reply is expected from them."""
        self._ended_epoch = Epoch()
        """Epochs up to this one are over: their leaders are known to have exited."""
        self._heard = now
        """When the leader was last heard, directly or through another doctor."""
        self._heard_directly = now - timing.leader_silence
        self._round = _Round(now + timing.listen)
        self._announced = now

    @property
    def leader(self) -> str:
        return self.epoch.doctor if self.state in (ElectionState.FOLLOWING, ElectionState.LEADING) else ""

    @property
    def leads(self) -> bool:
        return self.state is ElectionState.LEADING

    def start(self, now: float) -> list[Send]:
        return self._listen(now, self._timing.listen)

    def set_peers(self, peers: Iterable[str]) -> None:
        self._peers = {each for each in peers if each != self.own_name}

    def tick(self, now: float) -> list[Send]:
        match self.state:
            case ElectionState.LEADING if self.highest > self.epoch:
                # Deposed: processes that we start now would be superseded at once.
                return self._listen(now, self._timing.ok)
            case ElectionState.LEADING if now - self._announced >= self._timing.announce:
                return self._announce(now)
            case ElectionState.FOLLOWING if now - self._heard > self._timing.leader_silence:
                # Ask the others first: perhaps only our own connection to the leader is broken.
                return self._listen(now, self._timing.ok)
            case ElectionState.LISTENING if (
                now >= self._round.due or self._round.answered | self._exited_peers >= self._peers
            ):
                return self._elect(now)
            case ElectionState.ELECTING if now >= self._round.due or not self._higher():
                return self._win(now)
            case ElectionState.WAITING if now >= self._round.due or not self._round.oks - self._exited_peers:
                return self._elect(now)
        return []

    def peer_exited(self, now: float, peer: str) -> list[Send]:
        """A peer has exited, not just timed out."""
        if peer not in self._peers:
            return []
        self._exited_peers.add(peer)
        if self.highest.doctor == peer:
            self._ended_epoch = max(self._ended_epoch, self.highest)
        if self.epoch.doctor == peer:
            self._ended_epoch = max(self._ended_epoch, self.epoch)
        if self.state is ElectionState.FOLLOWING and self.epoch.doctor == peer:
            return self._elect(now)
        return self.tick(now)

    def receive(self, now: float, sender: str, message: Message) -> list[Send]:
        if sender not in self._peers:
            return []
        self._exited_peers.discard(sender)
        match message:
            case Election(epoch):
                self.note_epoch(epoch)
                return self._election_requested(now, sender)
            case Ok(epoch):
                self.note_epoch(epoch)
                if self.state is ElectionState.ELECTING:
                    self.state, self._round.due = ElectionState.WAITING, now + self._timing.coordinator
                self._round.oks.add(sender)
            case Coordinator(epoch):
                return self._leader_announced(now, sender, epoch, sender)
            case Leader(epoch, doctor, asking):
                replies = (
                    self._leader_announced(now, sender, epoch, doctor)
                    if doctor
                    else self._no_leader_announced(sender, epoch)
                )
                return [*replies, *([Send(sender, self._known_leader(now))] if asking and not replies else [])]
        return []

    def note_epoch(self, epoch: Epoch) -> None:
        """Raises the highest known epoch."""
        self.highest = max(self.highest, epoch)

    def _known_leader(self, now: float) -> Leader:
        """Our reply to a query for the leader. It names one only if we lead or heard it directly and recently."""
        fresh = self.leads or now - self._heard_directly <= self._timing.leader_silence / 2
        return Leader(self.epoch, self.leader) if self.leader and fresh else Leader(self.highest)

    def _leader_announced(self, now: float, sender: str, epoch: Epoch, leader: str) -> list[Send]:
        """Handles an announcement of a leader, sent by the leader itself or by a doctor that has just heard it."""
        self.note_epoch(epoch)
        if epoch <= self._ended_epoch and sender != leader:
            return []
        if leader == self.own_name:
            # Refers to an earlier instance of ours, unless we lead in this epoch.
            return []
        if epoch < self.epoch and self.leader:
            known = self._known_leader(now)
            return [Send(sender, known)] if known.doctor else []
        if epoch < self.epoch:
            return []
        self.epoch, self.state, self._heard = epoch, ElectionState.FOLLOWING, now
        if sender == leader:
            self._heard_directly = now
        return []

    def _no_leader_announced(self, sender: str, epoch: Epoch) -> list[Send]:
        self.note_epoch(epoch)
        self._round.answered.add(sender)
        if self.leads:
            return [Send(sender, Leader(self.epoch, self.own_name))]
        return []

    def _election_requested(self, now: float, sender: str) -> list[Send]:
        if self.leads:
            return [Send(sender, Leader(self.epoch, self.own_name))]
        replies: list[Send] = []
        if order_of(sender) < order_of(self.own_name):
            replies.append(Send(sender, Ok(self.highest)))
        known = self._known_leader(now)
        if known.doctor:
            replies.append(Send(sender, known))
        elif self.state is ElectionState.FOLLOWING:
            replies += self._listen(now, self._timing.ok)
        return replies

    def _higher(self) -> list[str]:
        return sorted(each for each in self._peers - self._exited_peers if order_of(each) > order_of(self.own_name))

    def _listen(self, now: float, time_s: float) -> list[Send]:
        self.state, self._round = ElectionState.LISTENING, _Round(now + time_s)
        return [Send(peer, Leader(self.highest, "", True)) for peer in sorted(self._peers)]

    def _elect(self, now: float) -> list[Send]:
        higher = self._higher()
        if not higher:
            return self._win(now)
        self.state, self._round = ElectionState.ELECTING, _Round(now + self._timing.ok)
        return [Send(each, Election(self.highest)) for each in higher]

    def _win(self, now: float) -> list[Send]:
        self.epoch = Epoch(max(self.highest, self.epoch).number + 1, self.own_name)
        self.note_epoch(self.epoch)
        self.state, self._announced = ElectionState.LEADING, now
        return [Send(peer, Coordinator(self.epoch)) for peer in sorted(self._peers)]

    def _announce(self, now: float) -> list[Send]:
        self._announced = now
        return [Send(peer, Leader(self.epoch, self.own_name)) for peer in sorted(self._peers)]
