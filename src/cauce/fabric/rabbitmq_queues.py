"""What exists on the broker, under which names and with which properties. Names are never used twice: a deleted
queue's messages could come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

import amqp

from cauce.broker.findings import QUEUES_TELL_TIMEOUT, numbers, of_tuning
from cauce.errors import FabricError, FabricLost
from cauce.fabric.names import shelf_of
from cauce.fabric.notices import notice
from cauce.fabric.rabbitmq_amqp import Connection
from cauce.fabric.rabbitmq_link import Link, Work
from cauce.fabric.rabbitmq_registry import Job

OLDEST = (3, 9)
"""The first version with streams."""
_DELIVERY_LIMIT = (4, 0)
_SEGMENT_BYTES = 128 << 20
_REGISTRY_SEGMENT_BYTES = 4 << 20
REGISTRY_BYTES = 64 << 20
"""The registry's old end is cut off beyond this; what still holds is said again long before."""
_LEASE_MS = 7 * 24 * 3600 * 1000
_AGAIN_S = 0.1

T = TypeVar("T")
Properties = dict[str, str | int]


def registry_name(namespace: str) -> str:
    return f"{namespace}.registry"


def stream_name(namespace: str, job: Job, log: str) -> str:
    """The one that is in use, or is to be."""
    return stream_names(namespace, job, log)[-1]


def stream_names(namespace: str, job: Job, log: str) -> list[str]:
    """That one, and before it those that were made in vain."""
    shelf = shelf_of(log)
    tries = range(job.tries.get(shelf, 0) + 1)
    return [f"{namespace}.{job.incarnation}.{shelf}{f'.{each}' if each else ''}" for each in tries]


def queue_name(namespace: str, job: Job, queue: str) -> str:
    """The one that is in use; of earlier rounds nothing is worth a look."""
    return queue_names(namespace, job, queue)[-1]


def queue_names(namespace: str, job: Job, queue: str) -> list[str]:
    """Those of all rounds."""
    rounds = range(job.rounds.get(queue, 0) + 1)
    return [f"{namespace}.{job.incarnation}.lease{each or ''}.{queue}" for each in rounds]


def to_sweep(namespace: str, job: Job) -> list[str]:
    """The streams and queues that a job has no use for any more."""
    kept = set() if job.deleted or job.kept is None else {shelf_of(log) for log in job.kept}
    streams = [stream_name(namespace, job, shelf) for shelf in sorted(job.shelves - kept)]
    return [*streams, *(name for queue in job.offers for name in queue_names(namespace, job, queue))]


def in_vain(namespace: str, job: Job) -> list[str]:
    """Those of its streams that never took a message."""
    return [name for shelf in sorted(job.shelves) for name in stream_names(namespace, job, shelf)[:-1]]


class Queues:
    """Makes and removes them. Everything may be done again."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._version: tuple[int, ...] = OLDEST

    def check(self, deadline: float) -> None:
        """Raises if this broker cannot serve us; tells what is wrong with it besides. All of it is known from the
        moment of connecting."""
        told = self._link.ask(lambda connection: connection.tuning, deadline)
        self._version = numbers(told.version)
        if told.product != "RabbitMQ" or self._version < OLDEST:
            raise FabricError(
                f"the broker is {told.product} {told.version}, and streams are needed: use RabbitMQ "
                f"{OLDEST[0]}.{OLDEST[1]} or later"
            )
        notice(of_tuning(told))

    def make_registry(self, name: str, deadline: float) -> None:
        self._make(name, {**_stream(_REGISTRY_SEGMENT_BYTES), "x-max-length-bytes": REGISTRY_BYTES}, deadline)

    def make_streams(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            self._make(name, _stream(_SEGMENT_BYTES), deadline)

    def make_queue(self, name: str, deadline: float) -> None:
        properties: Properties = {"x-queue-type": "quorum"}
        if self._version >= QUEUES_TELL_TIMEOUT:
            properties["x-consumer-timeout"] = _LEASE_MS
        if self._version >= _DELIVERY_LIMIT:
            # A lease may be taken any number of times: who dies of a task is found out elsewhere.
            properties["x-delivery-limit"] = -1
        self._make(name, properties, deadline)

    def _make(self, name: str, properties: Properties, deadline: float) -> None:
        try:
            self._ask(partial(_declare, name=name, properties=properties), deadline)
        except amqp.PreconditionFailed as problem:
            # If it is there, another version of this program has made it, or of the broker.
            if not self._ask(partial(_exists, name=name), deadline):
                raise FabricError(
                    f"RabbitMQ does not make {properties['x-queue-type']} queue {name} ({problem.reply_text}): see "
                    "that its feature flags are enabled"
                ) from problem

    def remove(self, names: Iterable[str], deadline: float) -> None:
        """Those that are not there are no error."""
        for name in names:
            self._ask(partial(_delete, name=name), deadline)

    def _ask(self, work: Work[T], deadline: float) -> T:
        """Asks until it can be done. Of a queue that it cannot reach a broker says that it is not there: while a
        cluster has lost its majority, that is so of all."""
        while True:
            try:
                return self._link.ask(work, deadline)
            except amqp.NotFound as problem:
                if monotonic() > deadline:
                    raise FabricLost(
                        f"RabbitMQ does not reach one of its queues ({problem.reply_text}): see that most of its nodes "
                        "run and see one another"
                    ) from problem
            time.sleep(_AGAIN_S)


def _stream(segment_bytes: int) -> Properties:
    return {"x-queue-type": "stream", "x-stream-max-segment-size-bytes": segment_bytes}


def _declare(connection: Connection, name: str, properties: Properties) -> None:
    connection.spare.queue_declare(name, durable=True, auto_delete=False, arguments=properties)


def _exists(connection: Connection, name: str) -> bool:
    try:
        connection.spare.queue_declare(name, passive=True)
    except amqp.NotFound:
        return False
    return True


def _delete(connection: Connection, name: str) -> None:
    connection.spare.queue_delete(name)


@dataclass(frozen=True)
class Counts:
    """How many messages of a queue wait, and how many somebody has got and not acknowledged."""

    ready: int
    held: int

    @property
    def total(self) -> int:
        return self.ready + self.held


VOID = Counts(0, 0)


def counts(connection: Connection, name: str) -> Counts:
    """Costs little, since nothing is written for it. But a queue that is not there or has no leader counts as void, and
    not all brokers count those who only hold a message."""
    try:
        found = connection.spare.queue_declare(name, passive=True)
    except amqp.NotFound:
        return VOID
    return Counts(int(found.message_count), int(found.consumer_count))
