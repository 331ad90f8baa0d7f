"""Heartbeats of a process, called from the loop that does its work: no thread answers for it when it hangs.

A process that learns that a later incarnation has taken its place ends here and now.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Iterable

from cauce.doctor.acts import Act, Follow, Leave, Rouse, Send
from cauce.doctor.children import bury_spawned, spawn
from cauce.doctor.home import Entry, Home
from cauce.doctor.messages import Incarnation
from cauce.doctor.patient import Facts, Patient
from cauce.doctor.post import Post, unbound
from cauce.doctor.proc import is_readable, open_pidfd, own_rss
from cauce.worker.events import EXIT_OLD

WOKEN_S = 3.0
"""Who was away for so long may have been stopped, and asks before it goes on."""
ANSWER_S = 0.3
NEWS_S = 0.05
WORK_CHARACTERS = 200


class Pulse:
    def __init__(self, home: Home, entry: Entry) -> None:
        cluster = home.cluster()
        self._home = home
        self._patient = Patient(
            entry.name,
            cluster.host,
            entry.incarnation,
            entry.pid,
            entry.start,
            entry.restarts,
            dict(cluster.doctors),
            cluster.timing,
        )
        self._post = Post(cluster.sealer(), entry.name, entry.incarnation, unbound(cluster.doctors.values()))
        self._last = time.monotonic()
        self._news, self._hurried = 0, 0.0
        self._followed: tuple[str, Incarnation, int] | None = None
        # At a signal, where every thread stands goes to the log: asked for before a hung process is ended.
        faulthandler.register(signal.SIGUSR1, all_threads=True)

    def due(self, news: int = 0) -> bool:
        """Whether it is time for a beat; with news, that is a little earlier: what kills us may be just that."""
        now = time.monotonic()
        if self._patient.is_due(now) or now - self._last > WOKEN_S:
            self._news = news
            return True
        if news == self._news or now - self._hurried < NEWS_S:
            return False
        self._news, self._hurried = news, now
        self._patient.hurry(now)
        return True

    def beat(self, *, progress: int, work: str = "", busy: bool = False, ready: bool = True) -> None:
        """May end the process."""
        now = time.monotonic()
        away, self._last = now - self._last, now
        self._do(self._patient.tick(now, Facts(ready, busy, progress, work[:WORK_CHARACTERS], own_rss())))
        if away > WOKEN_S:
            self._post.wait(ANSWER_S)
        for letter, _ in self._post.receive():
            self._do(self._patient.hear(letter.sender, letter.body))
        self._look_after()
        bury_spawned()

    def close(self) -> None:
        self._post.close()

    def _look_after(self) -> None:
        """In a ring: whether the process that we look after still lives."""
        if self._followed is None:
            return
        name, incarnation, fd = self._followed
        if is_readable(fd):
            os.close(fd)
            self._followed = None
            self._do(self._patient.ended(name, incarnation))

    def _do(self, acts: Iterable[Act]) -> None:
        for act in acts:
            match act:
                case Send(to, message):
                    self._post.send(self._address(to), message)
                case Follow():
                    self._follow(act)
                case Rouse(doctor):
                    self._say(f"no doctor is heard: starting {doctor}")
                    spawn(self._home, doctor)
                case Leave(_, why):
                    self._say(why)
                    os._exit(EXIT_OLD)

    def _address(self, name: str) -> str:
        watch = self._patient.watch
        if watch is not None and watch.successor == name and watch.address:
            return watch.address
        return self._patient.doctors.get(name, "")

    def _follow(self, follow: Follow) -> None:
        if self._followed is not None:
            os.close(self._followed[2])
        fd = open_pidfd(follow.pid, follow.start)
        self._followed = (follow.name, follow.incarnation, fd) if fd is not None else None
        if fd is None:
            self._do(self._patient.ended(follow.name, follow.incarnation))

    def _say(self, what: str) -> None:
        sys.stderr.write(f"cauce {self._patient.name}: {what}\n")
        sys.stderr.flush()
