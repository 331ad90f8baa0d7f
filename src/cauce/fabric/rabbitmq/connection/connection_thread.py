"""One connection to the cluster, owned by one thread. The thread sends heartbeats while the process computes, runs
commands in order, and reconnects when the connection breaks. No other thread uses the connection.

It never retries: commands that are pending when a connection breaks fail, and the caller decides.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from time import monotonic
from typing import Generic, TypeVar

import amqp

from cauce.errors import CauceError, FabricError, FabricLost
from cauce.fabric.address import Broker
from cauce.fabric.rabbitmq.connection.amqp import TICK_S, Connection
from cauce.fabric.rabbitmq.connection.permissions import refused
from cauce.fabric.rabbitmq.connection.split_brain_probe import SplitBrain, SplitBrainProbe

T = TypeVar("T")
Work = Callable[[Connection], T]

_MIN_BACKOFF_S, _MAX_BACKOFF_S = 0.05, 2.0
_FRAMES_IN_A_ROW = 64
_CLOSE_TIMEOUT_S = 1.0
_FINAL = (amqp.AccessRefused, amqp.NotAllowed)
"""A wrong password, or a vhost that does not exist: not worth an immediate retry."""


class ChangeSignal:
    """Wakes waiting threads when anything has changed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def notify(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    @property
    def count(self) -> int:
        return self._count

    def wait(self, seen: int, timeout_s: float) -> None:
        """Returns when `count` differs from `seen`, or after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


class _Command(Generic[T]):
    """Work for the thread. It is either started or cancelled, never both."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: T | None = None
        self.problem: BaseException | None = None
        self._decided = threading.Lock()

    def decide(self) -> bool:
        """True for the first call only: by the thread, which starts it, or by the caller, which cancels it."""
        return self._decided.acquire(blocking=False)


class ConnectionThread:
    def __init__(self, broker: Broker, name: str, changes: ChangeSignal, probe: SplitBrainProbe | None = None) -> None:
        self._broker = broker
        self._probe = probe
        self._name = name
        self._changes = changes
        self._servers = cycle(random.sample(broker.servers, len(broker.servers)))
        self._commands: deque[_Command[object]] = deque()
        self._wake_sender, self._wake_receiver = socket.socketpair()
        self._wake_sender.setblocking(False)
        self._wake_receiver.setblocking(False)
        self._connection: Connection | None = None
        self._latest: Connection | None = None
        self._stop_requested = False
        self._last_error: BaseException | None = None
        self._down_since = monotonic()
        self.generation = 0
        """Number of connections so far. Channels and consumers of earlier ones no longer exist."""
        self.last_block: str | None = None
        """Why the broker blocked the last broken connection, if that is why it broke."""
        self.on_broken: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def up(self) -> bool:
        return self._connection is not None

    @property
    def down_s(self) -> float:
        """Seconds since the connection was lost; 0 while connected."""
        return 0.0 if self.up else monotonic() - self._down_since

    @property
    def blocked(self) -> str | None:
        """Why the broker blocks publishing on this connection now; None if it does not."""
        connection = self._connection
        return None if connection is None else connection.blocked

    def wait_connected(self, deadline: float) -> None:
        """Waits for the first connection. An error that a retry cannot fix is raised immediately."""
        while not self.up:
            seen = self._changes.count
            left_s = deadline - monotonic()
            if left_s <= 0 or isinstance(self._last_error, _FINAL):
                raise self.lost()
            if not self.up:
                self._changes.wait(seen, left_s)

    def call(self, work: Work[T], deadline: float) -> T:
        """Runs work on the connection as soon as there is one. Raises the errors of the work, and FabricLost if the
        connection breaks or is not restored in time."""
        command = _Command(work)
        self._commands.append(command)  # type: ignore[arg-type]
        self._wake()
        if not command.done.wait(max(deadline - monotonic(), 0)) and not command.decide():
            # Already started: the work has timeouts of its own, and its result must not be lost.
            command.done.wait()
        if command.problem is not None:
            raise _translated(command.problem)
        if not command.done.is_set():
            raise self.lost()
        return command.result  # type: ignore[return-value]

    def ask(self, work: Work[T], deadline: float) -> T:
        """Like `call`, for idempotent work: retries on the next connection if one breaks."""
        while True:
            try:
                return self.call(work, deadline)
            except FabricLost:
                if monotonic() > deadline:
                    raise
            time.sleep(_MIN_BACKOFF_S)

    def submit(self, work: Work[object]) -> None:
        """Submits work without waiting for it."""
        self._commands.append(_Command(work))
        self._wake()

    def reset(self) -> None:
        """Reconnects, because an expected answer did not arrive."""
        generation = self.generation

        def disconnect(connection: Connection) -> None:
            if self.generation == generation:
                raise OSError("reset by the client")

        self.submit(disconnect)

    def lost(self) -> FabricError:
        """The error to raise while there is no connection."""
        error = self._last_error
        if isinstance(error, CauceError):
            return FabricError(str(error))
        cause = _cause(error)
        why = f" ({cause})" if cause else ""
        if isinstance(error, _FINAL):
            return FabricError(
                f"RabbitMQ at {self._broker} refuses user {self._broker.user!r} access to vhost "
                f"{self._broker.vhost!r}{why}: check the user, the password and the vhost of the address"
            )
        if isinstance(error, SplitBrain):
            return FabricLost(f"the RabbitMQ cluster at {self._broker} is partitioned{why}")
        return FabricLost(
            f"RabbitMQ at {self._broker} does not answer{why}; start it, or correct the address in --fabric or "
            "CAUCE_FABRIC"
        )

    def request_stop(self) -> None:
        """Starts to close, without waiting."""
        self._stop_requested = True
        if self._latest is not None:
            self._latest.stop_requested = True
        self._wake()

    def close(self) -> None:
        """Closes the connection; aborts it if an orderly close takes too long."""
        self.request_stop()
        connection = self._latest
        self._thread.join(_CLOSE_TIMEOUT_S)
        if self._thread.is_alive() and connection is not None:
            # The thread is blocked in a write.
            connection.shut_down()
            self._thread.join(_CLOSE_TIMEOUT_S)
        self._wake_sender.close()

    def abandon(self) -> None:
        """In a forked child, where the thread does not exist: closes the parent's descriptors."""
        self._stop_requested = True
        self._wake_sender.close()
        self._wake_receiver.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abandon()

    # Run by the connection thread, except for `_wake`.

    def _wake(self) -> None:
        # A full pipe wakes the thread as well; a closed one means that the thread has ended.
        with suppress(OSError):
            self._wake_sender.send(b"!")

    def _run(self) -> None:
        while not self._stop_requested:
            connection = self._connect()
            if connection is not None:
                self._serve(connection)
        self._wake_receiver.close()

    def _connect(self) -> Connection | None:
        backoff_s = _MIN_BACKOFF_S
        while not self._stop_requested:
            connection = self._latest = Connection(self._broker, next(self._servers), self._name)
            try:
                connection.connect()
                if self._probe is not None:
                    self._probe.check(connection)
            except Exception as problem:  # noqa: BLE001  (as in `_serve`)
                self._last_error = problem
                _collect(connection)
                self._changes.notify()
                self._sleep(backoff_s * random.uniform(0.5, 1.5))
                backoff_s = min(backoff_s * 2, _MAX_BACKOFF_S)
            else:
                return connection
        return None

    def _sleep(self, backoff_s: float) -> None:
        """Sleeps until the time is over or a stop is requested."""
        until = monotonic() + backoff_s
        while not self._stop_requested and (left := until - monotonic()) > 0:
            threading.Event().wait(min(left, TICK_S / 5))

    def _serve(self, connection: Connection) -> None:
        self.generation += 1
        self._last_error = None
        self._connection = connection
        self._changes.notify()
        try:
            while not self._stop_requested:
                if connection.readable(0 if self._commands else TICK_S, self._wake_receiver.fileno()):
                    self._read(connection)
                self._run_commands(connection)
                # After reading: a process that was paused first reads the heartbeats that arrived.
                connection.heartbeat_tick()
            connection.stop_requested, connection.answer_s = False, _CLOSE_TIMEOUT_S / 2
            connection.close()
        except Exception as problem:  # noqa: BLE001  (an error of a library may end the connection, never the thread)
            self._last_error = problem
            self.last_block = _reason_of_block(connection)
        finally:
            self._down_since = monotonic()
            self._connection = None
            if self._probe is not None:
                self._probe.invalidate(connection.server)
            _collect(connection)
            for callback in self.on_broken:
                callback()
            self._changes.notify()

    def _read(self, connection: Connection) -> None:
        for _ in range(_FRAMES_IN_A_ROW):
            connection.read_frame()
            if not connection.readable(0):
                return

    def _run_commands(self, connection: Connection) -> None:
        self._drain_wakeups()
        while self._commands and not self._stop_requested:
            command = self._commands.popleft()
            if command.decide():
                self._run_command(connection, command)

    def _drain_wakeups(self) -> None:
        """Drains the pipe before the commands are checked: a later command wakes the thread again."""
        with suppress(BlockingIOError):
            self._wake_receiver.recv(4096)

    def _run_command(self, connection: Connection, command: _Command[object]) -> None:
        try:
            command.result = command.work(connection)
        except (amqp.ChannelError, CauceError) as problem:
            command.problem = problem
        except BaseException as problem:
            self._last_error = problem
            command.problem = self.lost()
            raise
        finally:
            command.done.set()


def _translated(problem: BaseException) -> BaseException:
    """Translates an error of the library. Errors that callers handle stay: a queue is missing or differs."""
    if not isinstance(problem, amqp.ChannelError) or isinstance(problem, (amqp.NotFound, amqp.PreconditionFailed)):
        return problem
    if isinstance(problem, amqp.RecoverableChannelError):
        return FabricLost(f"RabbitMQ cannot do this now ({problem.reply_text}): check the broker and retry")
    return refused(problem)


def _cause(error: BaseException | None) -> str:
    """The reason that the operating system or the broker gave; empty if there is none."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, amqp.AMQPError):
        return str(error.reply_text)
    return "" if error is None else str(error)


def _reason_of_block(connection: Connection) -> str | None:
    """The broker's reason, if it blocked the connection and a write therefore timed out."""
    with suppress(Exception):
        while connection.blocked is None and connection.connected and connection.readable(0):
            connection.read_frame()
    return connection.blocked


def _collect(connection: Connection) -> None:
    with suppress(Exception):
        connection.collect()
