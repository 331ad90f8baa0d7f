"""A doctor as a process: one thread that waits for datagrams, ends of processes, its scribe and the clock, and does
what its core says. It never computes and never waits for anything else, so that it can be forked and be trusted."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from setproctitle import setproctitle
from structlog.typing import FilteringBoundLogger

from cauce.doctor.acts import Act, Follow, Fork, Leave, Note, Record, Rouse, Send, Signal
from cauce.doctor.children import Body, start
from cauce.doctor.core import Core, Self
from cauce.doctor.desired import Wished
from cauce.doctor.events import Event
from cauce.doctor.home import Entry, Home, seen_of
from cauce.doctor.messages import Cause, Died, Epoch, Incarnation, Message, Seen
from cauce.doctor.names import Role, role_of
from cauce.doctor.patient import Facts
from cauce.doctor.post import Post
from cauce.doctor.proc import is_readable, lives, open_pidfd, own_rss, reap, send_signal, shown
from cauce.doctor.scribe import Page, Scribe
from cauce.doctor.seal import Letter
from cauce.doctor.view import Ask, view_of
from cauce.worker.events import EXIT_OLD, EXIT_TWIN

LOOK_S = 0.5
CENSUS_S = 5.0
LOGS_S = 10.0
SIGNALS = {"term": signal.SIGTERM, "kill": signal.SIGKILL, "stack": signal.SIGUSR1}

Mourn = Callable[[Role, int], None]
"""Told of the end of a process of this host, with its role and pid."""


@dataclass
class _Followed:
    name: str
    incarnation: Incarnation
    pid: int


@dataclass
class Doctor:
    home: Home
    entry: Entry
    bodies: Mapping[Role, Body]
    socket: socket.socket
    log: FilteringBoundLogger
    mourn: Mourn
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _followed: dict[int, _Followed] = field(default_factory=dict)
    _leaving: int | None = None
    _counted: int = 0
    _epoch: Epoch = field(default_factory=Epoch)
    _tick_due: float = 0.0
    _look_due: float = 0.0
    _logs_due: float = 0.0
    _census_due: float = 0.0

    def run(self) -> int:
        setproctitle(f"cauce doctor {self.entry.name.removeprefix('doctor-')}")
        cluster = self.home.cluster()
        self._woken = self._catch_signals()
        self._scribe = Scribe(self.entry.name, cluster.fabric, cluster.durability)
        self._post = Post(cluster.sealer(), self.entry.name, self.entry.incarnation, self.socket)
        self._timing, self._guardian = cluster.timing, cluster.guardian
        entry = self.entry
        who = Self(entry.name, cluster.host, entry.incarnation, entry.pid, entry.start, entry.restarts)
        self._core = Core(who, cluster.timing, time.monotonic(), cluster.doctors, self.home.epoch())
        for source in (self.socket, self._scribe.socket, self._woken):
            self._selector.register(source, selectors.EVENT_READ)
        self.log.info("doctor started", name=entry.name, incarnation=str(entry.incarnation))
        self._do(self._core.start(time.monotonic(), self.home.survivors()))
        while self._leaving is None:
            self._turn()
        self._scribe.end()
        self.log.info("doctor stopped", name=entry.name)
        return self._leaving

    def _catch_signals(self) -> int:
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Ctrl-C reaches only a doctor that a person started in a terminal: the others have sessions of their own.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._leave(0))
        return woken

    def _leave(self, code: int) -> None:
        self._leaving = code

    def _turn(self) -> None:
        """What has come in before what the clock says: who was stopped for a while hears first who leads now."""
        ready = self._selector.select(max(self._tick_due - time.monotonic(), 0.0))
        ended = [key.fd for key, _ in ready if key.fd in self._followed]
        for letter, address in self._post.receive():
            self._read(letter, address)
        for fd in ended:
            # Looked at anew: meanwhile the number may have become that of another, who lives.
            if fd in self._followed and is_readable(fd):
                self._see_end(fd)
        self._hear_scribe()
        now = time.monotonic()
        if now >= self._tick_due:
            self._tick_due = now + self._timing.tick
            self._tick(now)

    def _read(self, letter: Letter, address: str) -> None:
        match letter.body:
            case Ask():
                self._post.send(address, view_of(self._core, letter.body))
            case Wished(wishes):
                self._do(self._core.wished(time.monotonic(), wishes))
            case Message() if letter.sender:
                if isinstance(letter.body, Died):
                    self._see_for_ourselves(letter.body)
                self._do(self._core.hear(time.monotonic(), letter.sender, letter.incarnation, address, letter.body))

    def _see_for_ourselves(self, died: Died) -> None:
        """Another was faster to see an end; of our own children we alone know the cause."""
        for fd, followed in list(self._followed.items()):
            same = (followed.name, followed.incarnation) == (died.name, died.incarnation)
            if same and is_readable(fd):
                self._see_end(fd)

    def _hear_scribe(self) -> None:
        while (page := self._scribe.hear()) is not None:
            self._do(self._core.wished(time.monotonic(), page.wishes))

    def _tick(self, now: float) -> None:
        # Children that nobody follows any more, such as those spawned in need, are buried here too.
        self._drain_signals()
        if now >= self._look_due:
            self._look_due = now + LOOK_S
            self._look(now)
        if now >= self._logs_due:
            self._logs_due = now + LOGS_S
            for life in self._core.own_lives():
                self.home.bound_log(life.name)
        self._do(self._core.tick(now, Facts(progress=self._counted, work=self._duty(), rss=own_rss())))
        if self._core.bully.highest > self._epoch:
            self._epoch = self._core.bully.highest
            self.home.write_epoch(self._epoch)

    def _duty(self) -> str:
        bully = self._core.bully
        return f"leads epoch {bully.epoch}" if bully.leads else f"follows {bully.leader}" if bully.leader else "elects"

    def _drain_signals(self) -> None:
        try:
            os.read(self._woken, 4096)
        except BlockingIOError:
            return

    def _look(self, now: float) -> None:
        old = self._scribe.socket
        if self._scribe.replace_if_dead():
            self._selector.unregister(old)
            self._selector.register(self._scribe.socket, selectors.EVENT_READ)
        self._do(self._core.looked(now, self._shown() if now < self._census_due else self._everybody(now)))

    def _shown(self) -> list[Seen]:
        """Those of this host's processes that we know of."""
        seen: list[Seen] = []
        for life in self._core.own_lives():
            found = shown(life.pid) if life.pid else None
            if found is not None and found.start == life.start:
                seen.append(seen_of(life.name, life.incarnation, life.pid, found))
        return seen

    def _everybody(self, now: float) -> list[Seen]:
        """And those that we should know of: by chance nobody may have told us."""
        self._census_due = now + CENSUS_S
        if reason := self._over():
            self._do(self._core.stop(now, reason))
        known = {(each.name, each.incarnation): each for each in self.home.survivors()}
        return list({**known, **{(each.name, each.incarnation): each for each in self._shown()}}.values())

    def _over(self) -> str:
        """Why the service cannot or must not go on here, if so."""
        pid, started = self._guardian
        if pid and not lives(pid, started):
            return "the process that it was not to outlive has ended"
        return "" if self.home.run.is_dir() else f"its folder {self.home.folder} is gone"

    def _see_end(self, fd: int) -> None:
        followed = self._followed.pop(fd)
        self._selector.unregister(fd)
        os.close(fd)
        self._tell_end(followed)

    def _tell_end(self, followed: _Followed) -> None:
        name, incarnation = followed.name, followed.incarnation
        code = reap(followed.pid)
        if code == EXIT_TWIN:
            self._core.twin(name, incarnation, followed.pid)
            return
        cause = Cause(code, "", self.home.last_lines(name)) if code is not None else None
        self.home.end(name, incarnation)
        self.mourn(role_of(name), followed.pid)
        self._do(self._core.exited(time.monotonic(), name, incarnation, cause))

    def _do(self, acts: Iterable[Act]) -> None:
        for act in acts:
            match act:
                case Send(to, message, address):
                    self._post.send(address or self._core.reach.addresses.get(to, ""), message)
                case Fork():
                    self._fork(act)
                case Signal():
                    self._signal(act)
                case Follow():
                    self._follow(act)
                case Note():
                    self._note(act)
                case Record(wish):
                    self._scribe.tell(Page([wish]))
                case Leave(old, why):
                    self.log.info("doctor leaves", name=self.entry.name, why=why)
                    self._leave(EXIT_OLD if old else 0)
                case Rouse():
                    pass

    def _fork(self, fork: Fork) -> None:
        try:
            made = start(self.home, self.bodies, fork.name, fork.incarnation, fork.restarts)
        except OSError as problem:
            why = f"it could not be started: {problem.strerror}"
            self._do(self._core.exited(time.monotonic(), fork.name, fork.incarnation, Cause(None, why)))
            return
        self._do(self._core.forked(fork.name, fork.incarnation, made.pid, made.start))

    def _signal(self, act: Signal) -> None:
        life = self._core.roster.find(act.name, act.incarnation)
        if life is None or not life.pid:
            return
        if not send_signal(life.pid, life.start, SIGNALS[act.how]):
            self._tell_end(_Followed(act.name, act.incarnation, life.pid))

    def _follow(self, follow: Follow) -> None:
        followed = _Followed(follow.name, follow.incarnation, follow.pid)
        if followed in self._followed.values():
            return
        fd = open_pidfd(follow.pid, follow.start)
        if fd is None:
            self._tell_end(followed)
            return
        self._followed[fd] = followed
        self._selector.register(fd, selectors.EVENT_READ)

    def _note(self, note: Note) -> None:
        self._counted += 1
        ago_s = 0.0 if note.at is None else self._core.now - note.at
        event = Event(
            time.time() - ago_s,
            note.what,
            note.name,
            self._core.bully.epoch.number,
            self._counted,
            self.entry.name,
            str(note.incarnation or ""),
            note.why,
            note.last,
            None if note.after_s is None else round(note.after_s, 4),
        )
        self._scribe.tell(Page([], [event]))
        say = self.log.warning if note.what in ("died", "hung", "paused", "parked", "lost") else self.log.info
        what = "launched" if note.what == "started" else note.what
        more = {} if note.after_s is None else {"after_s": event.after_s}
        say(f"{role_of(note.name)} {what}", name=note.name, why=note.why, epoch=event.epoch, **more)
