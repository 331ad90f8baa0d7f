"""A consumer of one stream from an offset on. What comes waits here until it is taken; how much may wait is bounded,
and what does not fit stays on the broker's disk.

`deliver` and `settle` are called by the link's thread, `take` by the reader's. Each counter has one writer.
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
from cauce.fabric.rabbitmq_amqp import ANSWER_S, BrokerChannel, Connection
from cauce.fabric.rabbitmq_link import Link, News

PREFETCH = 8
EASY_BYTES = 1 << 20
"""Up to so much may wait besides what the prefetch allows, so that small messages flow freely."""
MOST_BYTES = 128 << 20
"""Of all subscriptions; beyond it, those that were read longest ago are ended."""
_NOTES = 8
ELSEWHERE_S = 2.0
"""How long nodes that may have a copy of a stream are waited for."""


@dataclass(frozen=True, slots=True)
class Delivery:
    offset: int
    body: bytes
    tag: int


def is_cut(expected: int, offset: int) -> bool:
    """Whether messages are missing. A broker gives an offset or two to notes of its own, at the start of a segment."""
    return offset > expected + _NOTES


class Subscriptions:
    """All those of an open fabric. They are on one link as a rule. But a broker gives a stream to those who are
    connected to a node that has a copy of it, and one that was made while a node was down has none there; so there
    is a link to each node for what the first one cannot have."""

    def __init__(self, link: Link, news: News, to_each: Callable[[], Sequence[Link]] = lambda: ()) -> None:
        self.link = link
        self.news = news
        self._to_each = to_each
        self._others: Sequence[Link] | None = None
        self._open: set[Subscription] = set()
        self._unchecked_bytes = 0
        link.on_broken.append(partial(self._end_all, link))

    def __len__(self) -> int:
        return len(self._open)

    def start(self, stream: str, offset: int | str, deadline: float) -> Subscription | None:
        """None if there is no such stream, or no copy of it that can be reached now. Raises FabricLost."""
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
                # Once: if its node is gone, there is no next connection to wait for.
                found.call(partial(made.open, offset=offset), min(deadline, monotonic() + ANSWER_S))
                return made
        return None

    def _next_up(self, links: Sequence[Link], until: float) -> Link | None:
        """One that is up. If none is, they are waited for, but not those that have been away for long already."""
        while True:
            seen = self.news.count
            for link in links:
                if link.up:
                    return link
            left_s = until - monotonic()
            if left_s <= 0 or all(link.down_s > ELSEWHERE_S for link in links):
                return None
            self.news.wait(seen, left_s)

    def add(self, made: Subscription) -> None:
        self._open.add(made)

    def discard(self, ended: Subscription) -> None:
        self._open.discard(ended)

    def came(self, link: Link, size: int) -> None:
        """By a link's thread. Whoever reads a subscription that was ended goes on with another one."""
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
            # What is on another link is left to its own thread.
            each.end() if each.link is link else each.close()

    def _end_all(self, link: Link) -> None:
        for each in [each for each in list(self._open) if each.link is link]:
            each.end()


class Subscription:
    def __init__(self, family: Subscriptions, link: Link, stream: str) -> None:
        self.link = link
        self.stream = stream
        self.used_at = monotonic()
        self.ended = False
        self._family = family
        self._waiting: deque[Delivery] = deque()
        self._came_bytes = 0
        self._taken_bytes = 0
        self._channel: BrokerChannel | None = None
        self._settled = 0
        """The last that was acknowledged."""

    @property
    def waiting_bytes(self) -> int:
        return self._came_bytes - self._taken_bytes

    def open(self, connection: Connection, offset: int | str) -> None:
        channel: BrokerChannel = connection.channel()
        channel.on_closed = lambda problem: self.end()
        self._channel = channel
        try:
            channel.basic_qos(0, PREFETCH, False)
            channel.basic_consume(
                self.stream,
                callback=self._deliver,
                on_cancel=self._cancelled,
                arguments={"x-stream-offset": offset},
            )
        except BaseException:
            self.end()
            raise
        self._family.add(self)

    def take(self) -> Delivery | None:
        """The next that has come. None: nothing yet, or, if it has ended, nothing any more."""
        self.used_at = monotonic()
        try:
            found = self._waiting.popleft()
        except IndexError:
            return None
        self._taken_bytes += len(found.body)
        if found.tag - self._settled >= PREFETCH // 2:
            self.link.post(lambda connection: self._settle(found.tag))
        return found

    def close(self) -> None:
        """By any thread but the link's."""
        self.ended = True
        self.link.post(lambda connection: self.end())

    # By the link's thread.

    def _deliver(self, message: amqp.Message) -> None:
        if self.ended:
            return
        tag: int = message.delivery_tag
        self._waiting.append(Delivery(message.headers["x-stream-offset"], message.body, tag))
        self._came_bytes += len(message.body)
        if self.waiting_bytes <= EASY_BYTES and tag - self._settled >= PREFETCH // 2:
            self._settle(tag)
        self._family.came(self.link, len(message.body))
        self._family.news.tell()

    def _settle(self, tag: int) -> None:
        """Asks for more, by acknowledging what has come up to here."""
        if tag > self._settled and self._channel is not None and not self.ended:
            self._settled = tag
            self._channel.basic_ack(tag, multiple=True)

    def _cancelled(self, consumer_tag: str) -> None:
        self.end()

    def end(self) -> None:
        channel, self._channel = self._channel, None
        self.ended = True
        self._waiting.clear()
        self._family.discard(self)
        if channel is not None and channel.is_open:
            channel.close()
        self._family.news.tell()
