"""A doctor's hand on the fabric, in a process of its own: a fabric may keep one waiting, and a doctor must not wait.

It reads wishes and writes the timeline. It dies with its doctor, and is replaced when it dies alone.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from setproctitle import setproctitle

from cauce.doctor.desired import Wish
from cauce.doctor.events import Event, EventLog
from cauce.doctor.wishes import WishLog
from cauce.errors import CauceError
from cauce.fabric.address import open_fabric
from cauce.fabric.contract import Durability, Fabric
from cauce.worker.process import die_with_parent

POLL_S = 0.3
PAUSE_S = 1.0
"""Before a fabric that could not be used is tried again."""
SWEEP_S = 3600.0
MOST_WAITING = 1000
_MESSAGE_BYTES = 1 << 20


class Page(msgspec.Struct, frozen=True, array_like=True):
    """What passes between a doctor and its scribe, either way."""

    wishes: list[Wish] = []
    events: list[Event] = []
    read: bool = False
    """From the scribe: the fabric has been read to its end."""


class Scribe:
    """The doctor's side."""

    def __init__(self, name: str, fabric: str, durability: Durability) -> None:
        self._arguments = name, fabric, durability
        self.pid = 0
        self.socket = self._start()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_BYTES)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _be_scribe(theirs.fileno(), parent, *self._arguments)
            finally:
                os._exit(0)
        theirs.close()
        ours.setblocking(False)
        return ours

    def tell(self, page: Page) -> None:
        """Lost if the scribe is too far behind: a doctor does not wait."""
        with suppress(OSError):
            self.socket.send(msgspec.msgpack.encode(page))

    def hear(self) -> Page | None:
        """What the scribe has read. A scribe that died is replaced."""
        try:
            data = self.socket.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        return msgspec.msgpack.decode(data, type=Page) if data else None

    def replace_if_dead(self) -> bool:
        found, _ = os.waitpid(self.pid, os.WNOHANG)
        if found:
            self.socket.close()
            self.socket = self._start()
        return bool(found)

    def end(self) -> None:
        """Lets it write what it was told, for a moment."""
        self.socket.close()
        deadline = time.monotonic() + PAUSE_S
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.005)


@dataclass
class _Writing:
    """The scribe's side."""

    doctor: socket.socket
    fabric: str
    durability: Durability
    waiting: deque[Page] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    opened: Fabric | None = None
    wishes: WishLog | None = None
    events: EventLog | None = None
    sweep_due: float = 0.0
    told: bool = False

    def run(self) -> None:
        while True:
            readable, _, _ = select.select([self.doctor], [], [], POLL_S)
            closed = bool(readable) and not self._listen()
            try:
                self._work()
            except CauceError as problem:
                sys.stderr.write(f"the cluster's own log on the fabric: [{problem.code}] {problem}\n")
                sys.stderr.flush()
                self._let_go()
                if not closed:
                    time.sleep(PAUSE_S)
            if closed:
                return

    def _listen(self) -> bool:
        """False if the doctor is gone."""
        data = self.doctor.recv(_MESSAGE_BYTES)
        if data:
            self.waiting.append(msgspec.msgpack.decode(data, type=Page))
        return bool(data)

    def _work(self) -> None:
        if self.opened is None:
            self.opened = open_fabric(self.fabric, self.durability)
            self.wishes, self.events = WishLog(self.opened), EventLog(self.opened)
        assert self.wishes is not None
        assert self.events is not None
        while self.waiting:
            page = self.waiting[0]
            self.wishes.append(page.wishes)
            for event in page.events:
                self.events.append(event)
            self.waiting.popleft()
        fresh = self.wishes.read(surely=not self.told)
        if fresh or not self.told:
            self.told = True
            self.doctor.send(msgspec.msgpack.encode(Page(list(self.wishes.wishes.latest.values()), [], True)))
        if time.monotonic() >= self.sweep_due:
            self.sweep_due = time.monotonic() + SWEEP_S
            self.events.sweep(time.time())

    def _let_go(self) -> None:
        with suppress(CauceError):
            if self.opened is not None:
                self.opened.close()
        self.opened = self.wishes = self.events = None


def _be_scribe(fd: int, parent: int, name: str, fabric: str, durability: Durability) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent(parent)
    os.dup2(fd, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    setproctitle(f"cauce scribe {name.removeprefix('doctor-')}")
    with socket.socket(fileno=3) as doctor:
        _Writing(doctor, fabric, durability).run()
