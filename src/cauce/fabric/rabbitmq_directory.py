"""The registry as one object sees it: reads it as it grows, and says facts in it.

What was said has been seen in its place when `say` returns, with all that stands before it.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq_amqp import ANSWER_S
from cauce.fabric.rabbitmq_messages import decode
from cauce.fabric.rabbitmq_queues import Queues
from cauce.fabric.rabbitmq_registry import Fact, Job, Registry, Renew, dump, load
from cauce.fabric.rabbitmq_subscription import Delivery, Subscription, Subscriptions, is_cut
from cauce.fabric.rabbitmq_writer import Writer

_WAIT_S = 0.1
_RETRY_S = 0.05
RENEW_AFTER = 10_000
"""Facts that stand so far back are said again; not by all at once, hence a little later by each."""
_JOBS_IN_A_FACT = 100


class Directory:
    def __init__(self, stream: str, writer: Writer, family: Subscriptions, queues: Queues) -> None:
        self.registry = Registry()
        self._stream = stream
        self._writer = writer
        self._family = family
        self._queues = queues
        self._subscription: Subscription | None = None
        self._own_seq = -1
        self._renew_after = RENEW_AFTER + random.randrange(RENEW_AFTER // 2)
        self._ended: list[Job] = []

    def open(self, deadline: float) -> None:
        self._queues.make_registry(self._stream, deadline)
        self.say([], deadline)

    def say(self, facts: list[Fact], deadline: float) -> None:
        """Without facts: what anybody has said before this call is seen after it."""
        seq = self.tell(facts, deadline)
        while True:
            seen = self._family.news.count
            self._subscribe(deadline)
            # No further: what we have said is judged by what stands before it.
            while self._own_seq < seq and self._take_next():
                pass
            if self._own_seq >= seq:
                return
            if monotonic() > deadline:
                raise FabricLost("RabbitMQ does not deliver its registry: see that it is well, and try again")
            self._family.news.wait(seen, _WAIT_S)

    def tell(self, facts: list[Fact], deadline: float) -> int:
        """Says facts whose place does not matter. They stand when this returns, and will be seen by their seq."""
        while True:
            seq = self._writer.next_seq
            try:
                lost = self._writer.publish([(self._stream, self._writer.note(dump(facts)))], deadline)
            except FabricLost:
                if monotonic() > deadline:
                    raise
                time.sleep(_RETRY_S)
                continue
            if not lost:
                return seq
            # After a restart the broker answers before its streams are up; made again, they are waited for.
            if monotonic() > deadline:
                raise FabricLost("RabbitMQ does not find its registry: see that it is well, and try again")
            self._queues.make_registry(self._stream, deadline)

    def look(self) -> None:
        """Takes in what has come."""
        if self._family.link.up:
            self._subscribe(monotonic() + ANSWER_S)
        while self._take_next():
            pass

    def ended(self) -> list[Job]:
        """The jobs that were trimmed or deleted since this was last asked."""
        ended, self._ended = self._ended, []
        return ended

    def renewals(self) -> Renew | None:
        """What is to be said again by us, if anything."""
        oldest = self.registry.next - self._renew_after
        late = [job.standing() for job in self.registry.jobs.values() if job.said_at < oldest]
        return Renew(self.registry.next, late[:_JOBS_IN_A_FACT]) if late else None

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()

    def _subscribe(self, deadline: float) -> None:
        if self._subscription is None or self._subscription.ended:
            start: int | str = "first" if self.registry.start is None else self.registry.next
            # If the connection is gone again, it comes back by itself.
            with suppress(FabricLost):
                self._subscription = self._family.start(self._stream, start, deadline)

    def _take_next(self) -> bool:
        found = None if self._subscription is None else self._subscription.take()
        if found is not None:
            self._take(found)
        return found is not None

    def _take(self, found: Delivery) -> None:
        registry = self.registry
        if found.offset < registry.next:
            return
        if registry.start is not None and is_cut(registry.next, found.offset):
            # We were away so long that what came next has been cut off: from the beginning, then.
            self.registry = Registry()
            self.close()
            self._subscription = None
            return
        message = decode(found.body, f"registry {self._stream}, message {found.offset}")
        if message.author == self._writer.author:
            self._own_seq = max(self._own_seq, message.seq)
        self._ended += registry.apply(found.offset, load(message.note) if message.note else [])
