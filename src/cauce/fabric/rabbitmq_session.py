"""What an open fabric holds: its connections, the registry, and what is known of the streams and queues of each job.

One connection publishes, since a broker that has no room left stops it. One reads, since some brokers break it when a
stream moves. The third holds the leases, and is left in peace.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from time import monotonic

from cauce.fabric.address import Broker
from cauce.fabric.rabbitmq_agreement import Agreement
from cauce.fabric.rabbitmq_amqp import Connection
from cauce.fabric.rabbitmq_directory import Directory
from cauce.fabric.rabbitmq_lease import LeaseQueue
from cauce.fabric.rabbitmq_link import Link, News
from cauce.fabric.rabbitmq_queues import (
    Counts,
    Queues,
    counts,
    in_vain,
    queue_names,
    registry_name,
    stream_name,
    to_sweep,
)
from cauce.fabric.rabbitmq_registry import Fact, Finished, Job
from cauce.fabric.rabbitmq_shelf import Shelf
from cauce.fabric.rabbitmq_subscription import Subscriptions
from cauce.fabric.rabbitmq_writer import Writer

MOST_READERS = 1800
"""Consumers at once: each has a channel, and a connection has 2047."""
IDLE_S = 30.0
"""A stream that nobody has read for so long is not kept open."""


class _Book:
    """The tasks of a queue, as the registry has them."""

    def __init__(self, session: Session, job: Job, queue: str) -> None:
        self._session = session
        self._job = job
        self._queue = queue

    def finish(self, task: str) -> None:
        job = self._job
        if not job.deleted and job.kept is None:
            fact = Finished(job.incarnation, self._queue, [task])
            self._session.directory.tell([fact], monotonic() + self._session.patience_s)
        job.finish(self._queue, [task])

    def is_finished(self, task: str) -> bool:
        return task in self._job.finished.get(self._queue, ())


class Session:
    def __init__(self, broker: Broker, deadline: float, patience_s: float) -> None:
        self.news = news = News()
        agreement = Agreement(broker)
        self.namespace = broker.namespace
        self.patience_s = patience_s
        self._publishing, self._reading, self._holding = self._links = tuple(
            Link(broker, f"cauce {os.getpid()} {role}", news, agreement)
            for role in ("publishing", "reading", "holding")
        )
        self.queues = Queues(self._reading)
        self.writer = Writer(self._publishing)
        self._to_nodes: list[Link] = []
        self._family = Subscriptions(self._reading, news, lambda: self._to_each_node(broker, news, agreement))
        self.directory = Directory(registry_name(self.namespace), self.writer, self._family, self.queues)
        self._shelves: dict[str, Shelf] = {}
        self._leases: dict[str, LeaseQueue] = {}
        self._next_rest = 0.0
        self._counts_held: bool | None = None
        self.made: set[str] = set()
        """Streams and queues that we have made."""
        self.to_remove: set[str] = set()
        """Of these, the ones whose jobs have ended: others may have removed them before we made them."""
        try:
            self._open(deadline)
        except BaseException:
            self.close()
            raise

    def _open(self, deadline: float) -> None:
        for link in self._links:
            link.wait_up(deadline)
        self.queues.check(deadline)
        self.directory.open(deadline)

    def look(self) -> None:
        """Takes in what the registry says by now. Raises if it cannot have been read for a long time."""
        for link in self._links:
            if link.down_s > self.patience_s:
                raise link.lost()
        self.directory.look()
        self._let_go(self.directory.ended())

    def find(self, name: str) -> Job | None:
        """The job, as far as is known without asking."""
        self.look()
        return self.directory.registry.jobs.get(name)

    def find_surely(self, name: str, deadline: float) -> Job | None:
        """None only if there is no such job now."""
        found = self.find(name)
        if found is None or not self._reading.up:
            self.catch_up(deadline)
            found = self.directory.registry.jobs.get(name)
        return found

    def catch_up(self, deadline: float) -> None:
        self.say([], deadline)

    def say(self, facts: list[Fact], deadline: float) -> None:
        """Says facts in the registry; it has been read up to them when this returns."""
        self.directory.say(facts, deadline)
        self._let_go(self.directory.ended())

    def shelf(self, job: Job, log: str) -> Shelf:
        name = stream_name(self.namespace, job, log)
        found = self._shelves.get(name)
        if found is None:
            found = self._shelves[name] = Shelf(self._family, name, self.writer.author)
        return found

    def lease_queue(self, job: Job, queue: str) -> LeaseQueue:
        *before, name = queue_names(self.namespace, job, queue)
        found = self._leases.get(name)
        if found is None:
            found = self._leases[name] = LeaseQueue(name, self._holding, _Book(self, job, queue))
            for outdated in self._leases.keys() & set(before):
                self._leases.pop(outdated).outdated = True
        return found

    def counts_held(self, deadline: float) -> bool:
        """Whether this broker tells how many messages of a queue somebody holds. It is tried out once."""
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
        """Ends those that were read longest ago; they go on where they were when they are asked again."""
        now = monotonic()
        if now > self._next_rest:
            self._next_rest = now + IDLE_S / 4
            for shelf in self._shelves.values():
                shelf.rest(now - IDLE_S)
        if len(self._family) <= MOST_READERS:
            return
        readers = [reader for shelf in self._shelves.values() for reader in shelf.readers]
        for reader in sorted(readers, key=lambda each: each.used_at)[: len(readers) // 4]:
            reader.close()

    def _let_go(self, ended: Iterable[Job]) -> None:
        """Of jobs that were trimmed or deleted nothing is read or held any more."""
        for job in ended:
            gone = set(to_sweep(self.namespace, job))
            for name in gone & self._shelves.keys():
                self._shelves.pop(name).close()
            for name in gone & self._leases.keys():
                self._leases.pop(name).close()
            ours = gone & self.made
            self.made -= ours.union(in_vain(self.namespace, job))
            self.to_remove |= ours

    def _to_each_node(self, broker: Broker, news: News, agreement: Agreement) -> list[Link]:
        for server in broker.servers if len(broker.servers) > 1 else ():
            name = f"cauce {os.getpid()} reading {server[0]}:{server[1]}"
            self._to_nodes.append(Link(replace(broker, servers=(server,)), name, news, agreement))
        return self._to_nodes

    def close(self) -> None:
        links = (*self._links, *self._to_nodes)
        for link in links:
            link.leave()
        for link in links:
            link.close()

    def part(self) -> None:
        """In a forked child: all of it is the parent's."""
        for link in (*self._links, *self._to_nodes):
            link.part()


def _held_one(connection: Connection, name: str) -> Counts:
    """What a broker tells of a queue of one message while we hold that."""
    channel = connection.channel()
    try:
        channel.basic_get(name)
        return counts(connection, name)
    finally:
        channel.close()
