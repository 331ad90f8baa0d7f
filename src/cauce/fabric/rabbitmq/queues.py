"""Names and properties of the streams and queues on the broker. Names are never reused: messages of a deleted queue
could reappear.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

import amqp
from amqp import spec

from cauce.errors import FabricError, FabricLost
from cauce.fabric.rabbitmq.connection.amqp import Connection, Request
from cauce.fabric.rabbitmq.connection.connection_thread import ConnectionThread, Work
from cauce.fabric.rabbitmq.registry import Job
from cauce.fabric.rabbitmq.settings.findings import SUPPORTED, is_supported, numbers, tuning_findings
from cauce.fabric.rabbitmq.settings.notices import notice
from cauce.fabric.rabbitmq.settings.required import DELIVERY_LIMIT, DISCONNECTED_TIMEOUT, PER_QUEUE_TIMEOUT

_SEGMENT_BYTES = 128 << 20
_REGISTRY_SEGMENT_BYTES = 4 << 20
REGISTRY_BYTES = 64 << 20
"""Retention of the registry stream. Facts that still hold are appended again long before."""
_LEASE_MS = 7 * 24 * 3600 * 1000
_RETRY_S = 0.1
_DELETED_AT_ONCE = 32

T = TypeVar("T")
Version = tuple[int, ...]
Properties = dict[str, str | int]


def registry_name(namespace: str) -> str:
    return f"{namespace}.registry"


def stream_name(namespace: str, job: Job, group: str) -> str:
    """The stream of a log group that is in use, or to be declared."""
    return stream_names(namespace, job, group)[-1]


def stream_names(namespace: str, job: Job, group: str) -> list[str]:
    """The stream of a log group that is in use, last, after those that it replaced."""
    tries = range(job.tries.get(group, 0) + 1)
    return [f"{namespace}.{job.incarnation}.{group}{f'.{each}' if each else ''}" for each in tries]


def queue_name(namespace: str, job: Job, queue: str) -> str:
    """The queue in use, that of the latest round."""
    return queue_names(namespace, job, queue)[-1]


def queue_names(namespace: str, job: Job, queue: str) -> list[str]:
    """The queues of all rounds."""
    rounds = range(job.rounds.get(queue, 0) + 1)
    return [f"{namespace}.{job.incarnation}.lease{each or ''}.{queue}" for each in rounds]


def garbage_of(namespace: str, job: Job) -> list[str]:
    """The streams and queues that a trimmed or deleted job no longer needs."""
    kept = set() if job.deleted or job.kept is None else {log.group for log in job.kept}
    streams = [stream_name(namespace, job, group) for group in sorted(job.log_groups - kept)]
    return [*streams, *(name for queue in job.offers for name in queue_names(namespace, job, queue))]


def unusable_streams(namespace: str, job: Job) -> list[str]:
    """The job's streams that never became usable."""
    return [name for group in sorted(job.log_groups) for name in stream_names(namespace, job, group)[:-1]]


class Queues:
    """Declares and deletes streams and queues. All operations are idempotent."""

    def __init__(self, link: ConnectionThread) -> None:
        self._link = link

    def check(self, deadline: float) -> None:
        """Raises if the broker's version is not supported; reports settings that are wrong but tolerable. Uses only the
        parameters offered on connect."""
        tuning = self._link.ask(lambda connection: connection.tuning, deadline)
        if tuning.product != "RabbitMQ" or not is_supported(numbers(tuning.version)):
            raise FabricError(
                f"the broker is {tuning.product} {tuning.version}, which is not supported: use RabbitMQ {SUPPORTED}"
            )
        notice(tuning_findings(tuning))

    def make_registry(self, name: str, deadline: float) -> None:
        self._make(name, {**_stream(_REGISTRY_SEGMENT_BYTES), "x-max-length-bytes": REGISTRY_BYTES}, deadline)

    def make_streams(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            self._make(name, _stream(_SEGMENT_BYTES), deadline)

    def make_queue(self, name: str, deadline: float) -> None:
        self._make(name, {"x-queue-type": "quorum"}, deadline, _lease_properties)

    def _make(
        self, name: str, properties: Properties, deadline: float, more: Callable[[Version], Properties] | None = None
    ) -> None:
        """`more` are properties that depend on the version of the node that is asked: while a cluster is upgraded, its
        nodes differ."""

        def declare(connection: Connection) -> None:
            added = more(numbers(connection.tuning.version)) if more is not None else {}
            connection.spare.queue_declare(name, durable=True, auto_delete=False, arguments=properties | added)

        try:
            self._ask(declare, deadline)
        except amqp.PreconditionFailed as problem:
            # If it exists, another version of this program or of the broker declared it.
            if not self._ask(partial(_exists, name=name), deadline):
                raise FabricError(
                    f"RabbitMQ cannot declare {properties['x-queue-type']} queue {name} ({problem.reply_text}): check "
                    "that its feature flags are enabled"
                ) from problem

    def remove(self, names: Sequence[str], deadline: float) -> None:
        """Deletes queues; those that do not exist are ignored. Several at once: while a node is cut off, the broker
        needs seconds for each."""
        for first in range(0, len(names), _DELETED_AT_ONCE):
            self._ask(partial(_delete_all, names=names[first : first + _DELETED_AT_ONCE]), deadline)

    def _ask(self, work: Work[T], deadline: float) -> T:
        """Retries until the deadline. A broker answers "not found" for a queue that it cannot reach, and for all queues
        while the cluster has no majority."""
        while True:
            try:
                return self._link.ask(work, deadline)
            except amqp.NotFound as problem:
                if monotonic() > deadline:
                    raise FabricLost(
                        f"RabbitMQ cannot reach one of its queues ({problem.reply_text}): check that a majority of its "
                        "nodes is running and connected"
                    ) from problem
            time.sleep(_RETRY_S)


def _stream(segment_bytes: int) -> Properties:
    return {"x-queue-type": "stream", "x-stream-max-segment-size-bytes": segment_bytes}


def _lease_properties(version: Version) -> Properties:
    properties: Properties = {}
    if version >= PER_QUEUE_TIMEOUT:
        properties["x-consumer-timeout"] = _LEASE_MS
    if version >= DELIVERY_LIMIT:
        # A lease may be acquired any number of times: crash loops are detected elsewhere.
        properties["x-delivery-limit"] = -1
    if version >= DISCONNECTED_TIMEOUT:
        # A lease held through a node that crashed passes on at once. Its holder has lost its connection as well.
        properties["x-consumer-disconnected-timeout"] = 0
    return properties


def _exists(connection: Connection, name: str) -> bool:
    try:
        connection.spare.queue_declare(name, passive=True)
    except amqp.NotFound:
        return False
    return True


def _delete_all(connection: Connection, names: Sequence[str]) -> None:
    """Each on a channel of its own: the broker processes the requests of one channel one after the other."""
    requests = [
        Request(connection.channel(), spec.Queue.Delete, "Bsbbb", (0, name, False, False, False), spec.Queue.DeleteOk)
        for name in names
    ]
    problems = connection.request_all(requests)
    for each in requests:
        if each.channel.is_open:
            each.channel.close()
    if problems:
        raise problems[0]


@dataclass(frozen=True)
class Counts:
    """How many messages of a queue are ready, and how many are delivered and unacknowledged."""

    ready: int
    held: int

    @property
    def total(self) -> int:
        return self.ready + self.held


EMPTY = Counts(0, 0)


def counts(connection: Connection, name: str) -> Counts:
    """Cheap: the broker writes nothing. But a queue that does not exist or has no leader counts as empty, and not all
    brokers count messages that are held without a consumer."""
    try:
        found = connection.spare.queue_declare(name, passive=True)
    except amqp.NotFound:
        return EMPTY
    return Counts(int(found.message_count), int(found.consumer_count))
