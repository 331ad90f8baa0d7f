"""Reads the registry stream continuously and appends facts to it.

When `append_and_apply` returns, the appended facts and everything before them have been applied.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq.connection.amqp import ANSWER_S
from cauce.fabric.rabbitmq.queues import Queues
from cauce.fabric.rabbitmq.registry import Fact, Job, Registry, Renew, dump, load
from cauce.fabric.rabbitmq.streams.messages import decode
from cauce.fabric.rabbitmq.streams.reader import is_newer
from cauce.fabric.rabbitmq.streams.subscription import (
    AT_END,
    IDLE_S,
    SILENT_S,
    Delivery,
    Subscription,
    Subscriptions,
    is_cut,
)
from cauce.fabric.rabbitmq.streams.writer import Writer

_WAIT_S = 0.1
_RETRY_S = 0.05
RENEW_AFTER = 10_000
"""Age, in messages, at which facts are appended again. Each client adds a random delay, so that one does it."""
_JOBS_IN_A_FACT = 100


class RegistryClient:
    def __init__(self, stream: str, writer: Writer, subscriptions: Subscriptions, queues: Queues) -> None:
        self.registry = Registry()
        self._stream = stream
        self._writer = writer
        self._subscriptions = subscriptions
        self._queues = queues
        self._subscription: Subscription | None = None
        self._own_seq = -1
        self._at_end = False
        """Whether the next subscription starts at the end of the stream, to see whether the broker lost messages."""
        self._looking = False
        self._renew_after = RENEW_AFTER + random.randrange(RENEW_AFTER // 2)
        self._ended: list[Job] = []

    def open(self, deadline: float) -> None:
        self._queues.make_registry(self._stream, deadline)
        self.append_and_apply([], deadline)

    def append_and_apply(self, facts: list[Fact], deadline: float) -> None:
        """Appends facts and reads up to them. Without facts it is a read barrier: everything that any process appended
        before this call has been applied after it."""
        seq = self.append(facts, deadline)
        while True:
            seen = self._subscriptions.changes.count
            self._subscribe(deadline)
            # No further: the outcome of our facts depends only on those before them.
            while self._own_seq < seq and self._take_next():
                pass
            if self._own_seq >= seq:
                return
            self._at_end |= self._close_if_silent(SILENT_S)
            if monotonic() > deadline:
                raise FabricLost("RabbitMQ does not deliver its registry stream: check the broker and retry")
            self._subscriptions.changes.wait(seen, _WAIT_S)

    def append(self, facts: list[Fact], deadline: float) -> int:
        """Appends facts whose order does not matter. They are confirmed when this returns, but not yet applied.
        Returns their seq."""
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
            # After a restart the broker answers before its streams are up. A declaration waits for them.
            if monotonic() > deadline:
                raise FabricLost("RabbitMQ does not find its registry stream: check the broker and retry")
            self._queues.make_registry(self._stream, deadline)

    def poll(self) -> None:
        """Applies the messages that have arrived, without waiting."""
        if self._subscriptions.link.up:
            self._subscribe(monotonic() + ANSWER_S)
        while self._take_next():
            pass
        self._close_if_silent(IDLE_S)

    def ended(self) -> list[Job]:
        """The jobs that were trimmed or deleted since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def renewals(self) -> Renew | None:
        """The old facts that this client should append again, if any."""
        oldest = self.registry.next - self._renew_after
        late = [job.standing() for job in self.registry.jobs.values() if job.appended_at < oldest]
        return Renew(self.registry.next, late[:_JOBS_IN_A_FACT]) if late else None

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()

    def _subscribe(self, deadline: float) -> None:
        if self._subscription is None or self._subscription.ended:
            start: int | str = "first" if self.registry.start is None else self.registry.next
            self._looking, self._at_end = self._at_end and self.registry.start is not None, False
            if self._looking:
                start = AT_END
            # The connection thread reconnects by itself.
            with suppress(FabricLost):
                self._subscription = self._subscriptions.start(self._stream, start, deadline)

    def _close_if_silent(self, for_s: float) -> bool:
        return self._subscription is not None and self._subscription.close_if_silent(for_s)

    def _take_next(self) -> bool:
        found = None if self._subscription is None else self._subscription.take()
        if found is None:
            return False
        looking, self._looking = self._looking, False
        if looking and found.offset > self.registry.next:
            # Nothing is lost: the messages in between follow from their offset on.
            self.close()
            return False
        self._take(found)
        return True

    def _take(self, found: Delivery) -> None:
        registry = self.registry
        message = decode(found.body, f"registry {self._stream}, message {found.offset}")
        if found.offset < registry.next:
            if is_newer(message, self._writer.author, self._own_seq + 1):
                # It was not there when we read this far: the broker has lost confirmed messages that we have applied.
                self._rebuild()
            return
        if registry.start is not None and is_cut(registry.next, found.offset):
            # Retention dropped messages that we have not read.
            self._rebuild()
            return
        if message.author == self._writer.author:
            self._own_seq = max(self._own_seq, message.seq)
        self._ended += registry.apply(found.offset, load(message.note) if message.note else [])

    def _rebuild(self) -> None:
        """Reads the registry from its start."""
        self.registry = Registry()
        self.close()
        self._subscription = None
