"""The state of an open fabric: its connections, the registry, readers and lease queues.

Three connections, so that a failure of one does not affect the others: one publishes, and the broker blocks it when a
resource alarm is active; one reads, and some brokers close it when a stream moves; one holds the leases.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from time import monotonic

from cauce.fabric.address import Broker
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.connection.amqp import Connection
from cauce.fabric.rabbitmq.connection.connection_thread import ChangeSignal, ConnectionThread
from cauce.fabric.rabbitmq.connection.split_brain_probe import SplitBrainProbe
from cauce.fabric.rabbitmq.lease import LeaseQueue
from cauce.fabric.rabbitmq.queues import (
    Counts,
    Queues,
    counts,
    garbage_of,
    queue_names,
    registry_name,
    stream_name,
    unusable_streams,
)
from cauce.fabric.rabbitmq.registry import Fact, Finished, Job
from cauce.fabric.rabbitmq.registry_client import RegistryClient
from cauce.fabric.rabbitmq.streams.reader import Own
from cauce.fabric.rabbitmq.streams.reader_group import ReaderGroup
from cauce.fabric.rabbitmq.streams.subscription import Subscriptions
from cauce.fabric.rabbitmq.streams.writer import Writer

MOST_READERS = 1800
"""Maximum of concurrent consumers: each has a channel, and a connection has 2047."""
IDLE_S = 30.0
"""Readers of a stream that was not read for this long are closed."""


class _RegistryFinishedTasks:
    """The finished tasks of a queue, stored in the registry."""

    def __init__(self, session: Session, job: Job, queue: str) -> None:
        self._session = session
        self._job = job
        self._queue = queue

    def finish(self, task: str) -> None:
        job = self._job
        if not job.deleted and job.kept is None:
            fact = Finished(job.incarnation, self._queue, [task])
            self._session.registry_client.append([fact], monotonic() + self._session.patience_s)
        job.finish(self._queue, [task])

    def is_finished(self, task: str) -> bool:
        return task in self._job.finished.get(self._queue, ())


class Session:
    def __init__(self, broker: Broker, deadline: float, patience_s: float) -> None:
        self.changes = changes = ChangeSignal()
        probe = SplitBrainProbe(broker)
        self.namespace = broker.namespace
        self.patience_s = patience_s
        self._publishing, self._reading, self._holding = self._links = tuple(
            ConnectionThread(broker, f"cauce {os.getpid()} {role}", changes, probe)
            for role in ("publishing", "reading", "holding")
        )
        self.queues = Queues(self._reading)
        self.writer = Writer(self._publishing)
        self._own = Own(self.writer.author, lambda: self.writer.next_seq)
        self._to_nodes: list[ConnectionThread] = []
        self._subscriptions = Subscriptions(self._reading, changes, lambda: self._to_each_node(broker, changes, probe))
        self.registry_client = RegistryClient(
            registry_name(self.namespace), self.writer, self._subscriptions, self.queues
        )
        self._reader_groups: dict[str, ReaderGroup] = {}
        self._leases: dict[str, LeaseQueue] = {}
        self._next_idle_check = 0.0
        self._counts_held: bool | None = None
        self.made: set[str] = set()
        """Streams and queues that this session has declared."""
        self.to_remove: set[str] = set()
        """Those of ended jobs: another process may have removed them before we declared them, so we remove them too."""
        try:
            self._open(deadline)
        except BaseException:
            self.close()
            raise

    def _open(self, deadline: float) -> None:
        for link in self._links:
            link.wait_connected(deadline)
        self.queues.check(deadline)
        self.registry_client.open(deadline)

    def poll(self) -> None:
        """Applies new registry facts. Raises if a connection has been lost for too long."""
        for link in self._links:
            if link.down_s > self.patience_s:
                raise link.lost()
        self.registry_client.poll()
        self._close_ended(self.registry_client.ended())

    def find(self, name: str) -> Job | None:
        """The job, by the facts that have arrived; may be stale."""
        self.poll()
        return self.registry_client.registry.jobs.get(name)

    def find_consistent(self, name: str, deadline: float) -> Job | None:
        """Linearizable: None only if the job does not exist now."""
        found = self.find(name)
        if found is None or not self._reading.up:
            self.read_barrier(deadline)
            found = self.registry_client.registry.jobs.get(name)
        return found

    def read_barrier(self, deadline: float) -> None:
        self.append_and_apply([], deadline)

    def append_and_apply(self, facts: list[Fact], deadline: float) -> None:
        """Appends facts to the registry and applies everything up to them."""
        self.registry_client.append_and_apply(facts, deadline)
        self._close_ended(self.registry_client.ended())

    def reader_group(self, job: Job, log: Log) -> ReaderGroup:
        name = stream_name(self.namespace, job, log.group)
        found = self._reader_groups.get(name)
        if found is None:
            found = self._reader_groups[name] = ReaderGroup(self._subscriptions, name, self._own)
        return found

    def lease_queue(self, job: Job, queue: str) -> LeaseQueue:
        *before, name = queue_names(self.namespace, job, queue)
        found = self._leases.get(name)
        if found is None:
            found = self._leases[name] = LeaseQueue(name, self._holding, _RegistryFinishedTasks(self, job, queue))
            for outdated in self._leases.keys() & set(before):
                self._leases.pop(outdated).outdated = True
        return found

    def counts_held(self, deadline: float) -> bool:
        """Whether this broker reports unacknowledged messages of a queue. Probed once."""
        if self._counts_held is None:
            name = f"{self.namespace}.trial.{secrets.token_hex(8)}"
            self.queues.make_queue(name, deadline)
            try:
                self.writer.publish([(name, b"trial")], deadline)
                found = self._reading.ask(partial(_held_one, name=name), deadline)
                self._counts_held = found == Counts(0, 1)
            finally:
                self.queues.remove([name], deadline)
        return self._counts_held

    @property
    def lease_queues(self) -> int:
        return len(self._leases)

    def keep_few_readers(self) -> None:
        """Closes idle readers, and the least recently used ones beyond the limit; a later read resumes them."""
        now = monotonic()
        if now > self._next_idle_check:
            self._next_idle_check = now + IDLE_S / 4
            for group in self._reader_groups.values():
                group.close_if_idle(now - IDLE_S)
        if len(self._subscriptions) <= MOST_READERS:
            return
        readers = [reader for group in self._reader_groups.values() for reader in group.readers]
        for reader in sorted(readers, key=lambda each: each.used_at)[: len(readers) // 4]:
            reader.close()

    def _close_ended(self, ended: Iterable[Job]) -> None:
        """Closes readers and lease queues of jobs that were trimmed or deleted."""
        for job in ended:
            gone = set(garbage_of(self.namespace, job))
            for name in gone & self._reader_groups.keys():
                self._reader_groups.pop(name).close()
            for name in gone & self._leases.keys():
                self._leases.pop(name).close()
            ours = gone & self.made
            self.made -= ours.union(unusable_streams(self.namespace, job))
            self.to_remove |= ours

    def _to_each_node(self, broker: Broker, changes: ChangeSignal, probe: SplitBrainProbe) -> list[ConnectionThread]:
        for server in broker.servers if len(broker.servers) > 1 else ():
            name = f"cauce {os.getpid()} reading {server[0]}:{server[1]}"
            self._to_nodes.append(ConnectionThread(replace(broker, servers=(server,)), name, changes, probe))
        return self._to_nodes

    def close(self) -> None:
        links = (*self._links, *self._to_nodes)
        for link in links:
            link.request_stop()
        for link in links:
            link.close()

    def abandon(self) -> None:
        """In a forked child: abandons the parent's connections."""
        for link in (*self._links, *self._to_nodes):
            link.abandon()


def _held_one(connection: Connection, name: str) -> Counts:
    """The broker's counts for a queue whose only message we hold."""
    channel = connection.channel()
    try:
        channel.basic_get(name)
        return counts(connection, name)
    finally:
        channel.close()
