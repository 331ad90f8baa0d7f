"""Leases: a queue of the broker for each queue of tasks, with one message for each task. Whoever has got a message and
has not acknowledged it holds the lease, and the broker hands it on when its connection ends.

A task may have two messages if who offered it died at the wrong moment. That is harmless, as two holders always are;
the second one is dropped where it is known to be one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Protocol

import amqp

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq_amqp import ANSWER_S, BrokerChannel, Connection
from cauce.fabric.rabbitmq_link import Link
from cauce.fabric.rabbitmq_queues import Counts, counts

PACE_S = 0.02
PACE_EACH_S = 0.005
"""An empty queue is looked at once in so long, and not more than one queue in so long: idle jobs cost little."""
_COUNTS = ("x-delivery-count", "x-acquired-count")


class Book(Protocol):
    """Where it is written which tasks of a queue are finished."""

    def finish(self, task: str) -> None:
        """Raises FabricLost if that cannot be written."""

    def is_finished(self, task: str) -> bool: ...


class RabbitLease:
    def __init__(self, queue: LeaseQueue, channel: BrokerChannel, message: amqp.Message) -> None:
        headers = message.headers or {}
        self.task = bytes(message.body).decode()
        self.attempt = 1 + max(int(headers.get(each) or 0) for each in _COUNTS)
        self.channel = channel
        self._tag: int = message.delivery_tag
        self._queue = queue
        self._ended = False
        self._process = os.getpid()

    @property
    def _is_ours(self) -> bool:
        """Whether it is still to be ended, and by us: in a forked child it is the parent's."""
        return not self._ended and os.getpid() == self._process

    @property
    def lost(self) -> bool:
        return not self._ended and (not self.channel.is_open or self._queue.outdated)

    def done(self) -> None:
        if self._is_ours:
            # Written first: if the broker hands the lease on after all, whoever gets it knows.
            self._queue.book.finish(self.task)
            self.drop()

    def give_back(self) -> None:
        if self._is_ours:
            self._end(lambda: self.channel.basic_reject(self._tag, requeue=True))

    def drop(self) -> None:
        """The message goes, whatever that means for its task."""
        self._end(lambda: self.channel.basic_ack(self._tag))

    def _end(self, settle: Callable[[], object]) -> None:
        lost, self._ended = self.lost, True
        self._queue.end(self, None if lost else settle)


class LeaseQueue:
    """One queue as one object sees it, with a channel of its own: what happens to it costs no other lease."""

    def __init__(self, name: str, link: Link, book: Book) -> None:
        self.name = name
        self.book = book
        self.unfilled: dict[str, float] = {}
        """Tokens of offers that are not known to have been fulfilled, and since when we know of them."""
        self.found: Counts | None = None
        """What the last `take` has found, if it has looked."""
        self.lacking_since: float | None = None
        """Since when fewer tasks wait or are held than there are open ones."""
        self.outdated = False
        """Whether its tasks have been offered anew in another queue."""
        self._told: object = None
        self._held: dict[str, RabbitLease] = {}
        self._link = link
        self._channel: BrokerChannel | None = None
        self._next_look = 0.0

    def look_at_once(self) -> None:
        self._next_look = 0.0

    def told(self, news: object) -> None:
        """What the registry says of the queue; if that has changed, it is worth a look."""
        if news != self._told:
            self._told = news
            self.look_at_once()

    def take(self, queues: int) -> RabbitLease | None:
        """`queues` is how many the caller looks at in turn."""
        self.found = None
        if monotonic() < self._next_look or not self._link.up:
            return None
        with suppress(FabricLost):
            self.found = self.count()
            if self.found.ready and (lease := self.get()) is not None:
                return lease
        self._next_look = monotonic() + max(PACE_S, PACE_EACH_S * queues)
        return None

    def lacks(self, messages: bool) -> None:
        self.lacking_since = (self.lacking_since or monotonic()) if messages else None

    def count(self) -> Counts:
        return self._link.call(lambda connection: counts(connection, self.name), monotonic() + ANSWER_S)

    def get(self) -> RabbitLease | None:
        """The next that is worth something. The broker is asked in earnest, which costs it a write."""
        while (lease := self._link.call(self._get, monotonic() + ANSWER_S)) is not None:
            if not self._is_known(lease):
                self._held[lease.task] = lease
                return lease
            lease.drop()
        return None

    def end(self, lease: RabbitLease, settle: Callable[[], object] | None) -> None:
        if self._held.get(lease.task) is lease:
            del self._held[lease.task]
        self.look_at_once()
        if settle is not None and self._link.up:
            # If the connection breaks over it, the broker hands the lease on.
            with suppress(FabricLost):
                self._link.call(lambda connection: settle() if lease.channel.is_open else None, monotonic() + ANSWER_S)

    def close(self) -> None:
        """For a job that has ended."""
        channel, self._channel = self._channel, None
        if channel is not None:
            self._link.post(lambda connection: channel.close() if channel.is_open else None)

    def _is_known(self, lease: RabbitLease) -> bool:
        """A second message of a task that is finished, or that we hold: on this very channel, or it would be lost."""
        held = self._held.get(lease.task)
        return self.book.is_finished(lease.task) or (held is not None and not held.lost)

    def _get(self, connection: Connection) -> RabbitLease | None:
        if self._channel is None or not self._channel.is_open:
            self._channel = connection.channel()
        try:
            message = self._channel.basic_get(self.name)
        except amqp.NotFound:
            return None
        return None if message is None else RabbitLease(self, self._channel, message)
