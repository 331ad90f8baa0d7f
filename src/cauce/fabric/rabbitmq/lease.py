"""Leases: each task queue is a quorum queue with one message per task. The process that has received a message without
acknowledging it holds the lease; the broker redelivers the message when the connection ends.

A task may have two messages if a process crashed while enqueueing it. Two holders are harmless; a duplicate is dropped
where it is detected.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Protocol

import amqp

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq.connection.amqp import ANSWER_S, BrokerChannel, Connection
from cauce.fabric.rabbitmq.connection.connection_thread import ConnectionThread
from cauce.fabric.rabbitmq.queues import Counts, counts

PACE_S = 0.02
PACE_EACH_S = 0.005
"""Poll interval of an empty queue, and minimum time between polls of any two queues, so that idle jobs are cheap."""


class FinishedTasks(Protocol):
    """Durable set of the finished tasks of a queue."""

    def finish(self, task: str) -> None:
        """Raises FabricLost if the append fails."""

    def is_finished(self, task: str) -> bool: ...


class RabbitLease:
    def __init__(self, queue: LeaseQueue, channel: BrokerChannel, message: amqp.Message) -> None:
        self.task = bytes(message.body).decode()
        self.channel = channel
        self._tag: int = message.delivery_tag
        self._queue = queue
        self._ended = False
        self._process = os.getpid()

    @property
    def _is_ours(self) -> bool:
        """Whether this process holds the lease and has not ended it: in a forked child it is the parent's."""
        return not self._ended and os.getpid() == self._process

    @property
    def lost(self) -> bool:
        return not self._ended and (not self.channel.is_open or self._queue.outdated)

    def complete(self) -> None:
        if self._is_ours:
            # Recorded before the acknowledgement: if the broker redelivers the message, its receiver drops it.
            self._queue.finished_tasks.finish(self.task)
            self.drop()

    def release(self) -> None:
        if self._is_ours:
            self._end(lambda: self.channel.basic_reject(self._tag, requeue=True))

    def drop(self) -> None:
        """Acknowledges the message without finishing the task."""
        self._end(lambda: self.channel.basic_ack(self._tag))

    def _end(self, settle: Callable[[], object]) -> None:
        lost, self._ended = self.lost, True
        self._queue.end(self, None if lost else settle)


class LeaseQueue:
    """One session's view of a queue. It has its own channel, so that a channel error affects no other leases."""

    def __init__(self, name: str, link: ConnectionThread, finished_tasks: FinishedTasks) -> None:
        self.name = name
        self.finished_tasks = finished_tasks
        self.unfilled: dict[str, float] = {}
        """Tokens of offers whose messages are not known to be published, and when we first saw them."""
        self.found: Counts | None = None
        """The counts of the last `acquire`; None if it did not poll."""
        self.missing_since: float | None = None
        """Since when fewer messages are ready or held than tasks are open."""
        self.outdated = False
        """Whether its tasks were enqueued again in another queue."""
        self._state: object = None
        self._held: dict[str, RabbitLease] = {}
        self._link = link
        self._channel: BrokerChannel | None = None
        self._next_poll = 0.0

    def poll_now(self) -> None:
        self._next_poll = 0.0

    def note_state(self, state: object) -> None:
        """Passes the registry's state of the queue; a change triggers a poll."""
        if state != self._state:
            self._state = state
            self.poll_now()

    def acquire(self, queues: int) -> RabbitLease | None:
        """`queues` is the number of queues that the caller polls in turn."""
        self.found = None
        if monotonic() < self._next_poll or not self._link.up:
            return None
        with suppress(FabricLost):
            self.found = self.count()
            if self.found.ready and (lease := self.get()) is not None:
                return lease
        self._next_poll = monotonic() + max(PACE_S, PACE_EACH_S * queues)
        return None

    def note_missing(self, messages: bool) -> None:
        self.missing_since = (self.missing_since or monotonic()) if messages else None

    def count(self) -> Counts:
        return self._link.call(lambda connection: counts(connection, self.name), monotonic() + ANSWER_S)

    def get(self) -> RabbitLease | None:
        """Acquires the next lease that is not a duplicate. Unlike `count`, this costs the broker a write."""
        while (lease := self._link.call(self._get, monotonic() + ANSWER_S)) is not None:
            if not self._is_known(lease):
                self._held[lease.task] = lease
                return lease
            lease.drop()
        return None

    def end(self, lease: RabbitLease, settle: Callable[[], object] | None) -> None:
        if self._held.get(lease.task) is lease:
            del self._held[lease.task]
        self.poll_now()
        if settle is not None and self._link.up:
            # If the connection breaks, the broker redelivers the message.
            with suppress(FabricLost):
                self._link.call(lambda connection: settle() if lease.channel.is_open else None, monotonic() + ANSWER_S)

    def close(self) -> None:
        """Called when the job has ended."""
        channel, self._channel = self._channel, None
        if channel is not None:
            self._link.submit(lambda connection: channel.close() if channel.is_open else None)

    def _is_known(self, lease: RabbitLease) -> bool:
        """Whether it is a duplicate of a finished task, or of one that we hold on the current channel."""
        held = self._held.get(lease.task)
        return self.finished_tasks.is_finished(lease.task) or (held is not None and not held.lost)

    def _get(self, connection: Connection) -> RabbitLease | None:
        if self._channel is None or not self._channel.is_open:
            self._channel = connection.channel()
        try:
            message = self._channel.basic_get(self.name)
        except amqp.NotFound:
            return None
        return None if message is None else RabbitLease(self, self._channel, message)
