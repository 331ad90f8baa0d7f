"""One connection to the cluster, owned by one thread: it sends heartbeats while the process computes, does what it is
told in turn, and connects anew when the connection breaks. No other thread touches the connection.

It repeats nothing: what was under way when a connection broke fails, and its owner decides.
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
from cauce.fabric.rabbitmq_agreement import Agreement, Apart
from cauce.fabric.rabbitmq_amqp import ERRORS, TICK_S, Connection
from cauce.fabric.rabbitmq_rights import refused

T = TypeVar("T")
Work = Callable[[Connection], T]

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_FRAMES_IN_A_ROW = 64
_GOODBYE_S = 1.0
_FINAL = (amqp.AccessRefused, amqp.NotAllowed)
"""A wrong password, a vhost that is not there: to try again right away is of no use."""


class News:
    """Tells a waiting thread that something has happened, whatever it was."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def tell(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    @property
    def count(self) -> int:
        return self._count

    def wait(self, seen: int, timeout_s: float) -> None:
        """Returns when there is news since `count` was `seen`, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


class _Command(Generic[T]):
    """Work for the thread. Either it begins or it is called off, never both."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: T | None = None
        self.problem: BaseException | None = None
        self._fate = threading.Lock()

    def decide(self) -> bool:
        """True for the first who asks: the thread that begins, or the caller who has waited long enough."""
        return self._fate.acquire(blocking=False)


class Link:
    def __init__(self, broker: Broker, name: str, news: News, agreement: Agreement | None = None) -> None:
        self._broker = broker
        self._agreement = agreement
        self._name = name
        self._news = news
        self._servers = cycle(random.sample(broker.servers, len(broker.servers)))
        self._commands: deque[_Command[object]] = deque()
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._connection: Connection | None = None
        self._latest: Connection | None = None
        self._leaving = False
        self._trouble: BaseException | None = None
        self._down_since = monotonic()
        self.generation = 0
        """Counts connections. What was made on an earlier one is gone."""
        self.last_block: str | None = None
        """Why the broker took nothing from the connection that broke last, if that is why it broke."""
        self.on_broken: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def up(self) -> bool:
        return self._connection is not None

    @property
    def down_s(self) -> float:
        """For how long there has been no connection."""
        return 0.0 if self.up else monotonic() - self._down_since

    @property
    def blocked(self) -> str | None:
        """Why the broker takes nothing from this connection at the moment, if it said so."""
        connection = self._connection
        return None if connection is None else connection.blocked

    def wait_up(self, deadline: float) -> None:
        """For the first connection: what will not get better by waiting is raised at once."""
        while not self.up:
            seen = self._news.count
            left_s = deadline - monotonic()
            if left_s <= 0 or isinstance(self._trouble, _FINAL):
                raise self.lost()
            if not self.up:
                self._news.wait(seen, left_s)

    def call(self, work: Work[T], deadline: float) -> T:
        """Has work done on the connection, when there is one. Raises what the work raises; FabricLost if the
        connection breaks meanwhile or does not come back in time."""
        command = _Command(work)
        self._commands.append(command)  # type: ignore[arg-type]
        self._wake()
        if not command.done.wait(max(deadline - monotonic(), 0)) and not command.decide():
            # It has begun: everything it does is bounded, and what comes of it must not be lost.
            command.done.wait()
        if command.problem is not None:
            raise _told(command.problem)
        if not command.done.is_set():
            raise self.lost()
        return command.result  # type: ignore[return-value]

    def ask(self, work: Work[T], deadline: float) -> T:
        """The same for what may be done twice: it is done again on the next connection if one breaks over it."""
        while True:
            try:
                return self.call(work, deadline)
            except FabricLost:
                if monotonic() > deadline:
                    raise
            time.sleep(_SHORTEST_PAUSE_S)

    def post(self, work: Work[object]) -> None:
        """Has something done that nobody waits for."""
        self._commands.append(_Command(work))
        self._wake()

    def reset(self) -> None:
        """Connects anew: something that should have come has not."""
        generation = self.generation

        def break_up(connection: Connection) -> None:
            if self.generation == generation:
                raise OSError("given up on")

        self.post(break_up)

    def lost(self) -> FabricError:
        """The error for who could not be served."""
        trouble = self._trouble
        if isinstance(trouble, CauceError):
            return FabricError(str(trouble))
        cause = trouble.strerror if isinstance(trouble, OSError) and trouble.strerror else trouble
        why = f" ({cause})" if cause is not None and str(cause) else ""
        if isinstance(trouble, _FINAL):
            return FabricError(
                f"RabbitMQ at {self._broker} does not let user {self._broker.user!r} into vhost "
                f"{self._broker.vhost!r}{why}: check the user, the password and the vhost of the address"
            )
        if isinstance(trouble, Apart):
            return FabricLost(f"RabbitMQ at {self._broker} is no whole cluster{why}")
        return FabricLost(
            f"RabbitMQ at {self._broker} does not answer{why}; start it, or correct the address given with --fabric"
        )

    def leave(self) -> None:
        """Begins to close."""
        self._leaving = True
        if self._latest is not None:
            self._latest.leaving = True
        self._wake()

    def close(self) -> None:
        """Leaves in good order if that takes no more than a moment."""
        self.leave()
        connection = self._latest
        self._thread.join(_GOODBYE_S)
        if self._thread.is_alive() and connection is not None:
            # It stands in a write that does not end.
            connection.shut_down()
            self._thread.join(_GOODBYE_S)
        self._near.close()

    def part(self) -> None:
        """In a forked child, where the thread is not: lets go of what is the parent's."""
        self._leaving = True
        self._near.close()
        self._far.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.part()

    # From here on: the thread.

    def _wake(self) -> None:
        # A full pipe will wake it all the same, and one that is closed has nobody to wake.
        with suppress(OSError):
            self._near.send(b"!")

    def _run(self) -> None:
        while not self._leaving:
            connection = self._connect()
            if connection is not None:
                self._serve(connection)
        self._far.close()

    def _connect(self) -> Connection | None:
        pause_s = _SHORTEST_PAUSE_S
        while not self._leaving:
            connection = self._latest = Connection(self._broker, next(self._servers), self._name)
            try:
                connection.connect()
                if self._agreement is not None:
                    self._agreement.check(connection)
            except ERRORS as problem:
                self._trouble = problem
                _collect(connection)
                self._news.tell()
                self._sleep(pause_s * random.uniform(0.5, 1.5))
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            else:
                return connection
        return None

    def _sleep(self, pause_s: float) -> None:
        """Unless we are to leave."""
        until = monotonic() + pause_s
        while not self._leaving and (left := until - monotonic()) > 0:
            threading.Event().wait(min(left, TICK_S / 5))

    def _serve(self, connection: Connection) -> None:
        self.generation += 1
        self._trouble = None
        self._connection = connection
        self._news.tell()
        try:
            while not self._leaving:
                if connection.readable(0 if self._commands else TICK_S, self._far.fileno()):
                    self._read(connection)
                self._work_off(connection)
                # After reading: a process that was held up finds here what has come meanwhile.
                connection.heartbeat_tick()
            connection.leaving, connection.answer_s = False, _GOODBYE_S / 2
            connection.close()
        except Exception as problem:  # noqa: BLE001  (whatever a library raises costs the connection, not the thread)
            self._trouble = problem
            self.last_block = _reason_of_block(connection)
        finally:
            self._down_since = monotonic()
            self._connection = None
            if self._agreement is not None:
                self._agreement.doubt(connection.server)
            _collect(connection)
            for tell in self.on_broken:
                tell()
            self._news.tell()

    def _read(self, connection: Connection) -> None:
        for _ in range(_FRAMES_IN_A_ROW):
            connection.read_frame()
            if not connection.readable(0):
                return

    def _work_off(self, connection: Connection) -> None:
        self._wake_up()
        while self._commands and not self._leaving:
            command = self._commands.popleft()
            if command.decide():
                self._do(connection, command)

    def _wake_up(self) -> None:
        """Before looking at the commands: one that comes after the look wakes us once more."""
        with suppress(BlockingIOError):
            self._far.recv(4096)

    def _do(self, connection: Connection, command: _Command[object]) -> None:
        try:
            command.result = command.work(connection)
        except (amqp.ChannelError, CauceError) as problem:
            command.problem = problem
        except BaseException as problem:
            self._trouble = problem
            command.problem = self.lost()
            raise
        finally:
            command.done.set()


def _told(problem: BaseException) -> BaseException:
    """In our words, but for what callers reckon with: that a queue is not there, or is another one."""
    if not isinstance(problem, amqp.ChannelError) or isinstance(problem, (amqp.NotFound, amqp.PreconditionFailed)):
        return problem
    if isinstance(problem, amqp.RecoverableChannelError):
        return FabricLost(f"RabbitMQ cannot do that for now ({problem.reply_text}): see that it is well, and try again")
    return refused(problem)


def _reason_of_block(connection: Connection) -> str | None:
    """A write that did not end may have been stopped by the broker, which then has told us so."""
    with suppress(*ERRORS):
        while connection.blocked is None and connection.connected and connection.readable(0):
            connection.read_frame()
    return connection.blocked


def _collect(connection: Connection) -> None:
    with suppress(*ERRORS):
        connection.collect()
