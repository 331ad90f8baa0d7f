"""A fabric on a RabbitMQ cluster: logs are kept in streams, a lease is an unacknowledged message of a quorum queue.

    NAMESPACE.registry                     which jobs there are, and what is theirs (rabbitmq_registry.py)
    NAMESPACE.INCARNATION.SHELF            a stream: the logs of one shelf of one job
    NAMESPACE.INCARNATION.lease.QUEUE      a quorum queue: the tasks of one queue of one job

Nothing is made on the broker before the registry says so, and nothing is dropped as belonging to a job that is gone
before the registry has been read up to that moment.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from time import monotonic
from weakref import WeakSet

from cauce.errors import FabricError
from cauce.fabric.address import Broker
from cauce.fabric.contract import Batch, Position, Saying
from cauce.fabric.names import check_name
from cauce.fabric.rabbitmq_lease import RabbitLease
from cauce.fabric.rabbitmq_logs import Logs
from cauce.fabric.rabbitmq_offers import Offers
from cauce.fabric.rabbitmq_queues import registry_name
from cauce.fabric.rabbitmq_registry import Create
from cauce.fabric.rabbitmq_session import Session
from cauce.fabric.rabbitmq_sweep import Sweep
from cauce.wire.records import Record

PATIENCE_S = 30.0
"""How long a step goes on trying before it raises: longer than a broker needs to start again, or to elect a leader."""


class _Open:
    """A session, and what is done over it."""

    def __init__(self, broker: Broker, patience_s: float) -> None:
        self.session = Session(broker, monotonic() + patience_s, patience_s)
        self.logs = Logs(self.session)
        self.offers = Offers(self.session)
        self.sweep = Sweep(self.session)


class RabbitFabric:
    """One process's view of a cluster, used by one thread."""

    def __init__(self, broker: Broker, patience_s: float = PATIENCE_S) -> None:
        self._broker = broker
        self._patience_s = patience_s
        self._closed = False
        self._held: _Open | None = _Open(broker, patience_s)
        _all_fabrics.add(self)

    def __repr__(self) -> str:
        return f"RabbitFabric({self._broker}, namespace={self._broker.namespace})"

    def create_job(self, job: str, manifest: bytes) -> bytes:
        check_name("job", job)
        session = self._open.session
        session.say([Create(job, secrets.token_hex(16), manifest)], self._deadline())
        return session.directory.registry.jobs[job].manifest

    def jobs(self) -> list[str]:
        held = self._open
        held.session.look()
        held.sweep.keep_house()
        return held.session.directory.registry.in_order()

    def manifest(self, job: str) -> bytes | None:
        found = self._open.session.find(check_name("job", job))
        return None if found is None else found.manifest

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        self.append_all(job, [(log, records)])

    def append_all(self, job: str, sayings: Sequence[Saying]) -> None:
        for log, _ in sayings:
            check_name("log", log)
        self._open.logs.append(check_name("job", job), sayings, self._deadline())

    def catch_up(self, job: str | None = None, *logs: str) -> None:
        if job is None:
            self._open.session.catch_up(self._deadline())
        else:
            for log in logs:
                check_name("log", log)
            self._open.logs.catch_up(check_name("job", job), logs, self._deadline())

    def read(self, job: str, log: str, position: Position, limit_bytes: int) -> Batch:
        check_name("log", log)
        return self._open.logs.read(check_name("job", job), log, position, limit_bytes, self._deadline())

    def offer(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        check_name("queue", queue)
        for task in tasks:
            check_name("task", task)
        self._open.offers.offer(check_name("job", job), queue, tasks, self._deadline())

    def take(self, job: str, queue: str) -> RabbitLease | None:
        check_name("queue", queue)
        return self._open.offers.take(check_name("job", job), queue, self._deadline())

    def trim(self, job: str, keep: Sequence[str]) -> None:
        for log in keep:
            check_name("log", log)
        self._open.sweep.trim(check_name("job", job), keep, self._deadline())

    def delete_job(self, job: str) -> None:
        self._open.sweep.delete(check_name("job", job), self._deadline())

    def remove_all(self) -> None:
        """Removes all jobs of the namespace, and its registry: for who has it for himself."""
        for job in self.jobs():
            self.delete_job(job)
        session = self._open.session
        session.queues.remove([registry_name(session.namespace)], self._deadline())

    def close(self) -> None:
        """Gives back what is held; what is in the logs stays."""
        self._closed = True
        held, self._held = self._held, None
        if held is not None:
            held.session.close()

    @property
    def _open(self) -> _Open:
        if self._closed:
            raise FabricError("this fabric was closed: open another one")
        if self._held is None:
            self._held = _Open(self._broker, self._patience_s)
        return self._held

    def _deadline(self) -> float:
        return monotonic() + self._patience_s

    def _leave_to_the_parent(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.session.part()


_all_fabrics: WeakSet[RabbitFabric] = WeakSet()


def _after_a_fork() -> None:
    """In the child: connections and leases are the parent's. The child opens its own when it needs them."""
    for fabric in list(_all_fabrics):
        fabric._leave_to_the_parent()


os.register_at_fork(after_in_child=_after_a_fork)
