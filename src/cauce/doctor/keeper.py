"""The leader's plan: what is desired and what is known of every process make launches, ends, and notes of them.

It never starts what an operator stopped, and never starts a process on this host before the end of its former life
is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from cauce.doctor.acts import Act, Fork, How, Note, Send, Signal
from cauce.doctor.desired import Desired, Wishes
from cauce.doctor.judge import State, Verdict, judge
from cauce.doctor.lives import Life, Past, Roster
from cauce.doctor.messages import Cause, Epoch, Incarnation, Kill, Launch
from cauce.doctor.names import host_of, role_of
from cauce.doctor.reach import Reach
from cauce.doctor.timing import Timing
from cauce.doctor.words import restarting, told
from cauce.worker.events import EXIT_FULL, EXIT_OLD

AT_ONCE = 2
"""So many consecutive crashes are followed by a restart without a pause."""
FIRST_PAUSE_S = 0.5
"""After the next crash; each further crash doubles the pause."""
MOST_DOUBLINGS = 30
ASK_AGAIN_S = 0.5
STACK_S = 0.5
"""For writing down where it stands, before it is ended."""
KILL_AGAIN_S = 1.0
OLD_PAUSE_S = 1.0
"""Before the next start of one that found a later one at work, of which we have not heard yet."""
OLD_S = 3.0
"""How long an older incarnation may take to leave by itself."""


@dataclass
class Keeper:
    me: str
    host: str
    timing: Timing
    roster: Roster
    wishes: Wishes
    reach: Reach
    launches: int = 0

    def plan(self, now: float, epoch: Epoch) -> list[Act]:
        """Everything that is to be done now, by the leader."""
        desired = self.wishes.desired
        if not desired.known or not desired.running:
            return []
        acts: list[Act] = []
        for name in desired.names:
            if desired.wants(name) and name != self.me:
                acts += self._keep(name, now, epoch)
        for life in list(self.roster.alive()):
            if not desired.wants(life.name) and life.name != self.me and not _is_guest(life):
                acts += self.end(life, now, epoch, "term", _unwanted(desired, life.name), wanted=True)
        for life in list(self.roster.old()):
            if now - self._old_since(life) > OLD_S:
                acts += self.end(life, now, epoch, "kill", "it is an older incarnation", wanted=True)
        return acts

    def _old_since(self, life: Life) -> float:
        """From when on it could know that it is old."""
        newest = self.roster.newest(life.name) or life
        return max(life.began, newest.began, self.reach.since(life.host))

    def verdict(self, life: Life, now: float) -> Verdict:
        return judge(life, now, self.timing, self.reach.last(life.host, now), self.reach.since(life.host))

    def _keep(self, name: str, now: float, epoch: Epoch) -> list[Act]:
        life = self.roster.newest(name)
        if life is None or not life.alive:
            return self._launch(name, now, epoch) if now >= self.roster.past(name).due else []
        verdict = self.verdict(life, now)
        if verdict.state is State.LOST:
            return self._replace(life, now, epoch, verdict)
        if life.ending is not None and not life.wanted_end and life.heard is not None and life.heard > life.signalled:
            # Ill no longer, and the order to end it has not got through.
            life.ending, life.how, life.why = None, "", ""
        if life.ending is not None:
            return self.end(life, now, epoch, "kill", life.why)
        if verdict.treat:
            how: How = "stack" if verdict.state is State.HUNG else "kill"
            note = Note(verdict.state.value, name, life.incarnation, verdict.why)
            return [note, *self.end(life, now, epoch, how, verdict.why)]
        if life.asked and life.heard is None and life.vouched is None and now - life.asked > ASK_AGAIN_S:
            return self._ask(life, now, epoch)
        return []

    def _replace(self, life: Life, now: float, epoch: Epoch, verdict: Verdict) -> list[Act]:
        """It cannot be reached, so it cannot be ended: a later incarnation makes it leave when it can be heard."""
        if role_of(life.name) != "worker" or now < self.roster.past(life.name).due:
            return []
        past = self.roster.past(life.name)
        past.died = past.died if past.died is not None else now
        past.due = now + self.timing.lost
        return [Note("lost", life.name, life.incarnation, verdict.why), *self._launch(life.name, now, epoch)]

    def _launch(self, name: str, now: float, epoch: Epoch) -> list[Act]:
        home = host_of(name)
        elsewhere = (
            home != self.host and now - self.reach.last(home, now) > self.timing.lost and role_of(name) == "worker"
        )
        host = self.host if elsewhere else home
        newest = self.roster.newest(name)
        if newest is not None and newest.incarnation.epoch > epoch:
            # We are an old leader and about to hear of it: whatever we start would have to leave at once.
            return []
        if host != self.host and not self.reach.helper(host, now):
            return []
        known = newest.incarnation.launch if newest is not None and newest.incarnation.epoch == epoch else 0
        self.launches = max(self.launches, known) + 1
        past = self.roster.past(name)
        life = Life(name, Incarnation(epoch, self.launches), host, now, restarts=past.restarts)
        self.roster.add(life)
        what = "restarted" if past.died is not None or past.restarts else "started"
        note = Note(what, name, life.incarnation, f"on {host}" if host else "")
        past.restarts += 1
        if host == self.host:
            return [note, Fork(name, life.incarnation, life.restarts)]
        return [note, *self._ask(life, now, epoch)]

    def _ask(self, life: Life, now: float, epoch: Epoch) -> list[Act]:
        life.asked = now
        helper = self.reach.helper(life.host, now)
        return [Send(helper, Launch(epoch, life.name, life.incarnation, life.restarts))] if helper else []

    def end(self, life: Life, now: float, epoch: Epoch, how: How, why: str, *, wanted: bool = False) -> list[Act]:
        """Begins or goes on to end a life: asked first where that will do, and killed when it takes too long."""
        waits = {"term": self.timing.stop, "stack": STACK_S, "kill": KILL_AGAIN_S}
        if life.ending is None:
            life.ending, life.why, life.wanted_end = now, why, wanted
        elif now - life.signalled < waits.get(life.how, 0.0):
            return []
        next_how: How = "kill" if life.how else how
        life.signalled, life.how = now, next_how
        if life.host == self.host:
            return [Signal(life.name, life.incarnation, next_how)]
        helper = self.reach.helper(life.host, now)
        return [Send(helper, Kill(epoch, life.name, life.incarnation, next_how, why))] if helper else []

    def bury(self, life: Life, now: float, cause: Cause) -> Past:
        """Notes a death that has just become known; every doctor does, so that the next leader knows of it too."""
        life.ended = now
        past = self.roster.past(life.name)
        past.restarts = max(past.restarts, life.restarts + 1)
        past.cause, past.why = cause, told(cause, _held(life))
        newest = self.roster.newest(life.name)
        if newest is not life:
            return past
        past.died = now
        if life.wanted_end or cause.code == EXIT_OLD:
            past.died, past.due = None, now if life.wanted_end else now + OLD_PAUSE_S
            return past
        if cause.code == EXIT_FULL:
            past.due = now + self.timing.full
            return past
        life.crashed = True
        past.crashes = 1 if life.ready_s(now) >= self.timing.steady else past.crashes + 1
        past.due = now + pause_after(past.crashes, self.timing.backoff)
        return past

    def learn(self, life: Life, cause: Cause) -> None:
        past = self.roster.past(life.name)
        past.cause, past.why = cause, told(cause, _held(life))
        if cause.code in (EXIT_FULL, EXIT_OLD) and life.crashed:
            life.crashed, past.crashes = False, max(past.crashes - 1, 0)

    def delayed(self, name: str, since: float) -> list[Act]:
        """A note, if the restart after an end at `since` waits for a pause."""
        past = self.roster.past(name)
        pause_s = past.due - since
        if pause_s <= 0 or not self.wishes.desired.wants(name):
            return []
        return [Note("backoff", name, None, restarting(pause_s, past.reason()), past.cause.last, at=since)]

    def retry(self, name: str, now: float) -> None:
        """An operator wants it started: no pause, whatever happened before."""
        self.roster.past(name).retry(now)


def pause_after(crashes: int, longest_s: float) -> float:
    """The pause before the next start after so many consecutive crashes."""
    if crashes <= AT_ONCE:
        return 0.0
    doublings = min(crashes - AT_ONCE - 1, MOST_DOUBLINGS)
    return float(min(FIRST_PAUSE_S * 2**doublings, longest_s))


def _held(life: Life) -> str:
    """What died with it, of which others have to make good."""
    return life.work if role_of(life.name) == "worker" else ""


def _is_guest(life: Life) -> bool:
    """Started by hand or by another manager, and not by a leader: nobody's to end."""
    return life.incarnation.epoch == Epoch()


def _unwanted(desired: Desired, name: str) -> str:
    hold = desired.held.get(name)
    return f"it was {hold.value}" if hold is not None else "it is one too many"
