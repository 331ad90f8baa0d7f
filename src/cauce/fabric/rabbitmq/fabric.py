"""A fabric on a RabbitMQ cluster: logs are stored in streams, a lease is an unacknowledged message of a quorum queue.

    NAMESPACE.registry                     all jobs, with their streams and queues (registry.py)
    NAMESPACE.INCARNATION.GROUP            a stream: the logs of one log group of one job
    NAMESPACE.INCARNATION.lease.QUEUE      a quorum queue: the tasks of one queue of one job

A stream or queue is declared only after the registry names it. Records of a deleted job are dropped only after a read
barrier on the registry.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from time import monotonic
from weakref import WeakSet

from cauce.errors import FabricError
from cauce.fabric.address import Broker
from cauce.fabric.contract import Append, Batch, Position
from cauce.fabric.names import Log, check_name, is_service_log
from cauce.fabric.rabbitmq.garbage_collection import GarbageCollector
from cauce.fabric.rabbitmq.lease import RabbitLease
from cauce.fabric.rabbitmq.logs import Logs
from cauce.fabric.rabbitmq.queues import registry_name
from cauce.fabric.rabbitmq.registry import Create
from cauce.fabric.rabbitmq.session import Session
from cauce.fabric.rabbitmq.task_queue import TaskQueues
from cauce.fabric.records import Record

PATIENCE_S = 30.0
"""Time for which a step retries before it raises: longer than a restart of a broker or a leader election."""


class _Open:
    """A session and the components that use it."""

    def __init__(self, broker: Broker, patience_s: float) -> None:
        self.session = Session(broker, monotonic() + patience_s, patience_s)
        self.logs = Logs(self.session)
        self.task_queues = TaskQueues(self.session)
        self.collector = GarbageCollector(self.session)


class RabbitFabric:
    """One process's view of a cluster; not thread-safe."""

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
        session.append_and_apply([Create(job, secrets.token_hex(16), manifest)], self._deadline())
        return session.registry_client.registry.jobs[job].manifest

    def jobs(self) -> list[str]:
        return [name for name in self._all_names() if not is_service_log(name)]

    def service_logs(self) -> list[str]:
        return [name for name in self._all_names() if is_service_log(name)]

    def _all_names(self) -> list[str]:
        held = self._open
        held.session.poll()
        held.collector.run_periodic()
        return held.session.registry_client.registry.in_order()

    def manifest(self, job: str) -> bytes | None:
        found = self._open.session.find(check_name("job", job))
        return None if found is None else found.manifest

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        self.append_all(job, [(log, records)])

    def append_all(self, job: str, appends: Sequence[Append]) -> None:
        self._open.logs.append(check_name("job", job), appends, self._deadline())

    def read_barrier(self, job: str | None = None, *logs: Log) -> None:
        if job is None:
            self._open.session.read_barrier(self._deadline())
        else:
            self._open.logs.read_barrier(check_name("job", job), logs, self._deadline())

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        return self._open.logs.read(check_name("job", job), log, position, limit_bytes, self._deadline())

    def enqueue(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        check_name("queue", queue)
        for task in tasks:
            check_name("task", task)
        self._open.task_queues.enqueue(check_name("job", job), queue, tasks, self._deadline())

    def acquire(self, job: str, queue: str) -> RabbitLease | None:
        check_name("queue", queue)
        return self._open.task_queues.acquire(check_name("job", job), queue, self._deadline())

    def trim(self, job: str, keep: Sequence[Log]) -> None:
        self._open.collector.trim(check_name("job", job), keep, self._deadline())

    def scratch(self, job: str) -> None:
        return None

    def delete_job(self, job: str) -> None:
        self._open.collector.delete(check_name("job", job), self._deadline())

    def remove_all(self) -> None:
        """Removes all jobs of the namespace and its registry. Only for a namespace that no other process uses."""
        for job in self._all_names():
            self.delete_job(job)
        session = self._open.session
        session.queues.remove([registry_name(session.namespace)], self._deadline())

    def close(self) -> None:
        """Releases all leases and closes the connections."""
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
            held.session.abandon()


_all_fabrics: WeakSet[RabbitFabric] = WeakSet()


def _after_a_fork() -> None:
    """In a forked child: abandons the parent's connections and leases. The child opens its own when needed."""
    for fabric in list(_all_fabrics):
        fabric._leave_to_the_parent()


os.register_at_fork(after_in_child=_after_a_fork)
