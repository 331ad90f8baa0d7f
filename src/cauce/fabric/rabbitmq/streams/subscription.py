"""A consumer of one stream from an offset on, with a bounded buffer: backpressure keeps the rest on the broker's disk.

`_deliver` and `_settle` run in the connection thread, `take` in the reader's. Each counter has one writer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic

import amqp

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq.connection.amqp import ANSWER_S, BrokerChannel, Connection
from cauce.fabric.rabbitmq.connection.connection_thread import ChangeSignal, ConnectionThread

PREFETCH = 8
CONSUMER = "cauce"
"""The tag of the only consumer of a channel."""
EASY_BYTES = 1 << 20
"""Buffered bytes up to which messages are acknowledged on arrival, so that prefetch does not throttle small ones."""
MOST_BYTES = 128 << 20
"""Buffer limit of all subscriptions together; beyond it, the least recently read ones are closed."""
_NOTES = 8
SILENT_S = 5.0
"""How long a message that was confirmed may take to arrive. After a partition of its nodes, RabbitMQ may have forgotten
a consumer without an error: it must subscribe again."""
IDLE_S = 30.0
"""The same if it is not known whether there is a message."""
AT_END = "last"
"""The offset of the last messages of a stream. A consumer at an offset that the stream does not have receives nothing
until it has: one that waits for a confirmed message looks there whether the broker has lost messages."""
ELSEWHERE_S = 2.0
"""How long to wait for a connection to nodes that may have a replica of a stream."""


@dataclass(frozen=True, slots=True)
class Delivery:
    offset: int
    body: bytes
    tag: int


def is_cut(expected: int, offset: int) -> bool:
    """Whether messages are missing. A broker uses an offset or two itself at the start of a segment."""
    return offset > expected + _NOTES


class Subscriptions:
    """All subscriptions of an open fabric, normally on one connection. But a stream can only be consumed from a node
    with a replica, and a stream declared while a node was down has none there. For these streams there is a connection
    to each node."""

    def __init__(
        self,
        link: ConnectionThread,
        changes: ChangeSignal,
        to_each: Callable[[], Sequence[ConnectionThread]] = lambda: (),
    ) -> None:
        self.link = link
        self.changes = changes
        self._to_each = to_each
        self._others: Sequence[ConnectionThread] | None = None
        self._open: set[Subscription] = set()
        self._unchecked_bytes = 0
        link.on_broken.append(partial(self._end_all, link))

    def __len__(self) -> int:
        return len(self._open)

    def start(self, stream: str, offset: int | str, deadline: float) -> Subscription | None:
        """None if the stream does not exist or no replica can be reached now. Raises FabricLost."""
        made = Subscription(self, self.link, stream)
        try:
            self.link.ask(partial(made.open, offset=offset), deadline)
        except amqp.NotFound:
            return None
        except amqp.PreconditionFailed:
            return self._start_elsewhere(stream, offset, deadline)
        return made

    def _start_elsewhere(self, stream: str, offset: int | str, deadline: float) -> Subscription | None:
        if self._others is None:
            self._others = self._to_each()
            for link in self._others:
                link.on_broken.append(partial(self._end_all, link))
        until = min(deadline, monotonic() + ELSEWHERE_S)
        untried = list(self._others)
        while (found := self._next_up(untried, until)) is not None:
            untried.remove(found)
            made = Subscription(self, found, stream)
            with suppress(FabricLost, amqp.NotFound, amqp.PreconditionFailed):
                # Without a retry: it would wait for a connection to the same node.
                found.call(partial(made.open, offset=offset), min(deadline, monotonic() + ANSWER_S))
                return made
        return None

    def _next_up(self, links: Sequence[ConnectionThread], until: float) -> ConnectionThread | None:
        """A connected one. Waits if none is connected, unless all have been down for long."""
        while True:
            seen = self.changes.count
            for link in links:
                if link.up:
                    return link
            left_s = until - monotonic()
            if left_s <= 0 or all(link.down_s > ELSEWHERE_S for link in links):
                return None
            self.changes.wait(seen, left_s)

    def add(self, made: Subscription) -> None:
        self._open.add(made)

    def discard(self, ended: Subscription) -> None:
        self._open.discard(ended)

    def delivered(self, link: ConnectionThread, size: int) -> None:
        """Called by a connection thread. The reader of a closed subscription opens another one."""
        self._unchecked_bytes += size
        if self._unchecked_bytes < EASY_BYTES:
            return
        self._unchecked_bytes = 0
        by_age = sorted(self._open, key=lambda each: each.used_at)
        too_much = sum(each.waiting_bytes for each in by_age) - MOST_BYTES
        for each in by_age[:-1]:
            if too_much <= 0:
                return
            too_much -= each.waiting_bytes
            # A subscription on another connection is closed by that connection's thread.
            each.end() if each.link is link else each.close()

    def _end_all(self, link: ConnectionThread) -> None:
        for each in [each for each in list(self._open) if each.link is link]:
            each.end()


class Subscription:
    def __init__(self, subscriptions: Subscriptions, link: ConnectionThread, stream: str) -> None:
        self.link = link
        self.stream = stream
        self.used_at = monotonic()
        self.arrived_at = monotonic()
        """When the last message has arrived; at first, when it was opened."""
        self.ended = False
        self._subscriptions = subscriptions
        self._waiting: deque[Delivery] = deque()
        self._came_bytes = 0
        self._taken_bytes = 0
        self._channel: BrokerChannel | None = None
        self._settled = 0
        """The last acknowledged delivery tag."""

    @property
    def waiting_bytes(self) -> int:
        return self._came_bytes - self._taken_bytes

    def close_if_silent(self, for_s: float) -> bool:
        """Closes it if no message has arrived for this long: its reader opens another one. Returns whether it did."""
        silent = not self.ended and monotonic() - self.arrived_at > for_s
        if silent:
            self.close()
        return silent

    def open(self, connection: Connection, offset: int | str) -> None:
        channel: BrokerChannel = connection.channel()
        channel.on_closed = lambda problem: self.end()
        self._channel = channel
        try:
            channel.basic_qos(0, PREFETCH, False)
            # The library rejects messages of consumers that it does not know yet, and a broker that is busy may send
            # them together with its answer.
            channel.callbacks[CONSUMER] = self._deliver
            channel.basic_consume(
                self.stream,
                consumer_tag=CONSUMER,
                callback=self._deliver,
                on_cancel=self._cancelled,
                arguments={"x-stream-offset": offset},
            )
        except BaseException:
            self.end()
            raise
        self._subscriptions.add(self)

    def take(self) -> Delivery | None:
        """The next delivery; None if there is none yet, or if the subscription has ended."""
        self.used_at = monotonic()
        try:
            found = self._waiting.popleft()
        except IndexError:
            return None
        self._taken_bytes += len(found.body)
        if found.tag - self._settled >= PREFETCH // 2:
            self.link.submit(lambda connection: self._settle(found.tag))
        return found

    def close(self) -> None:
        """May be called by any thread but the connection thread."""
        self.ended = True
        self.link.submit(lambda connection: self.end())

    # Run by the connection thread.

    def _deliver(self, message: amqp.Message) -> None:
        if self.ended:
            return
        self.arrived_at = monotonic()
        tag: int = message.delivery_tag
        self._waiting.append(Delivery(message.headers["x-stream-offset"], message.body, tag))
        self._came_bytes += len(message.body)
        if self.waiting_bytes <= EASY_BYTES and tag - self._settled >= PREFETCH // 2:
            self._settle(tag)
        self._subscriptions.delivered(self.link, len(message.body))
        self._subscriptions.changes.notify()

    def _settle(self, tag: int) -> None:
        """Acknowledges all deliveries up to this one, so that the broker sends more."""
        if tag > self._settled and self._channel is not None and not self.ended:
            self._settled = tag
            self._channel.basic_ack(tag, multiple=True)

    def _cancelled(self, consumer_tag: str) -> None:
        self.end()

    def end(self) -> None:
        channel, self._channel = self._channel, None
        self.ended = True
        self._waiting.clear()
        self._subscriptions.discard(self)
        if channel is not None and channel.is_open:
            channel.close()
        self._subscriptions.changes.notify()
