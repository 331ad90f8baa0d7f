"""Fabric I/O of a doctor, in a child process: fabric calls may block, and a doctor must never block.

It reads the desired state and appends to the timeline. It exits with its doctor; the doctor restarts it after a crash.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from setproctitle import setproctitle

from cauce.doctor.model.desired_state import DesiredEntry
from cauce.doctor.supervision.desired_state_log import DesiredStateLog
from cauce.doctor.supervision.events import Event, EventLog
from cauce.errors import CauceError
from cauce.fabric.contract import Durability, Fabric
from cauce.fabric.factory import open_fabric
from cauce.process.starting import fork
from cauce.process.telemetry.logs import start_logs
from cauce.worker.process import exit_with_parent

POLL_S = 0.3
BACKOFF_S = 1.0
"""Backoff after a failed fabric call."""
SWEEP_S = 3600.0
MAX_PENDING = 1000
_MESSAGE_BYTES = 1 << 20


class FabricIoMessage(msgspec.Struct, frozen=True, array_like=True):
    """A message between a doctor and its fabric I/O process, in both directions."""

    desired: list[DesiredEntry] = []
    events: list[Event] = []
    read: bool = False
    """Set by the fabric I/O process: the log has been read to its end."""


class FabricIoProcess:
    """The child process, and the doctor's end of the connection to it."""

    def __init__(self, name: str, fabric: str, durability: Durability) -> None:
        self._arguments = name, fabric, durability
        self.pid = 0
        self.socket = self._start()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_BYTES)
        parent = os.getpid()
        self.pid = fork(lambda: _run(theirs.fileno(), parent, *self._arguments))
        theirs.close()
        ours.setblocking(False)
        return ours

    def send(self, message: FabricIoMessage) -> None:
        """Sends without blocking. The message is dropped if the child process is too far behind."""
        with suppress(OSError):
            self.socket.send(msgspec.msgpack.encode(message))

    def receive(self) -> FabricIoMessage | None:
        """The next message from the child process, if there is one. Never blocks."""
        try:
            data = self.socket.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        return msgspec.msgpack.decode(data, type=FabricIoMessage) if data else None

    def restart_if_exited(self) -> bool:
        found, _ = os.waitpid(self.pid, os.WNOHANG)
        if found:
            self.socket.close()
            self.socket = self._start()
        return bool(found)

    def end(self) -> None:
        """Closes the connection and waits briefly for the child process to append its pending messages."""
        self.socket.close()
        deadline = time.monotonic() + BACKOFF_S
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.005)


@dataclass
class _FabricIoLoop:
    """The child's end of the connection."""

    doctor: socket.socket
    fabric: str
    durability: Durability
    pending: deque[FabricIoMessage] = field(default_factory=lambda: deque(maxlen=MAX_PENDING))
    opened: Fabric | None = None
    desired_log: DesiredStateLog | None = None
    event_log: EventLog | None = None
    sweep_due: float = 0.0
    sent: bool = False

    def run(self) -> None:
        while True:
            readable, _, _ = select.select([self.doctor], [], [], POLL_S)
            closed = bool(readable) and not self._listen()
            try:
                self._work()
            except BrokenPipeError:
                return
            except (CauceError, OSError) as problem:
                code = problem.code if isinstance(problem, CauceError) else "os"
                start_logs("doctor").warning("fabric unavailable, will retry", code=code, cause=str(problem))
                self._close()
                if not closed:
                    time.sleep(BACKOFF_S)
            if closed:
                return

    def _listen(self) -> bool:
        """False if the doctor has closed the connection."""
        try:
            data = self.doctor.recv(_MESSAGE_BYTES)
        except ConnectionResetError:
            # It has exited without reading the last message.
            data = b""
        if data:
            self.pending.append(msgspec.msgpack.decode(data, type=FabricIoMessage))
        return bool(data)

    def _work(self) -> None:
        if self.opened is None:
            self.opened = open_fabric(self.fabric, self.durability)
            self.desired_log, self.event_log = DesiredStateLog(self.opened), EventLog(self.opened)
        assert self.desired_log is not None
        assert self.event_log is not None
        while self.pending:
            message = self.pending[0]
            self.desired_log.append(message.desired)
            for event in message.events:
                self.event_log.append(event)
            self.pending.popleft()
        fresh = self.desired_log.read(consistent=not self.sent)
        if fresh or not self.sent:
            self.sent = True
            self.doctor.send(
                msgspec.msgpack.encode(FabricIoMessage(list(self.desired_log.desired.latest.values()), [], True))
            )
        if time.monotonic() >= self.sweep_due:
            self.sweep_due = time.monotonic() + SWEEP_S
            self.event_log.sweep(time.time())

    def _close(self) -> None:
        with suppress(CauceError, OSError):
            if self.opened is not None:
                self.opened.close()
        self.opened = self.desired_log = self.event_log = None


def _run(fd: int, parent: int, name: str, fabric: str, durability: Durability) -> int:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    exit_with_parent(parent)
    os.dup2(fd, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    setproctitle(f"cauce fabric-io {name.removeprefix('doctor-')}")
    with socket.socket(fileno=3) as doctor:
        _FabricIoLoop(doctor, fabric, durability).run()
    return 0
