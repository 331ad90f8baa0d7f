"""Task queues: tasks are enqueued once, however often and by however many processes, and acquired one at a time.

An offer is appended to the registry before its messages are published. If the author crashes in between, or the broker
loses the messages, the process that finds the queue empty publishes them again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq.lease import LeaseQueue, RabbitLease
from cauce.fabric.rabbitmq.queues import queue_name
from cauce.fabric.rabbitmq.registry import Job, Offer, Offered, Refill
from cauce.fabric.rabbitmq.session import Session

TAKE_OVER_AFTER_S = 5.0
"""Time after which another process takes over an offer whose messages were not published."""
RESTORE_AFTER_S = 20.0
"""Time for which messages must be missing before they count as lost. A queue without a leader seems empty; an election
takes less than this."""
SILENT_S = 8.0
"""Time after which a queue that confirms no message is replaced. A broker that crashes during a declaration may leave
such a queue behind."""
_RETRY_S = 0.05


class TaskQueues:
    def __init__(self, session: Session) -> None:
        self._session = session

    def enqueue(self, name: str, queue: str, tasks: Sequence[str], deadline: float) -> None:
        job = self._session.find_consistent(name, deadline)
        if job is None or job.kept is not None:
            return
        known = job.offers.get(queue, {})
        new = [task for task in dict.fromkeys(tasks) if task not in known]
        if new:
            self._offer(job, Offer(job.incarnation, queue, new, secrets.token_hex(8)), deadline)

    def acquire(self, name: str, queue: str, deadline: float) -> RabbitLease | None:
        job = self._session.find(name)
        if job is None or job.kept is not None or queue not in job.offers:
            return None
        leases = self._session.lease_queue(job, queue)
        leases.note_state((len(job.offers[queue]), len(job.offered)))
        lease = leases.acquire(self._session.lease_queues)
        if lease is None and leases.found is not None:
            self._take_over(job, queue, leases, deadline)
            leases.note_missing(leases.found.total < len(job.open_tasks(queue)))
            self._restore(job, queue, leases, deadline)
        return lease

    def _offer(self, job: Job, offer: Offer, deadline: float) -> None:
        self._session.append_and_apply([offer], deadline)
        self._fill_if_ours(job, offer.queue, offer.tasks, offer.token, deadline)

    def _fill_if_ours(self, job: Job, queue: str, tasks: Sequence[str], token: str, deadline: float) -> None:
        """After an offer was appended: publishes the messages of the tasks for which our offer won."""
        if job.deleted or job.kept is not None:
            return
        standing = job.offers[queue]
        ours = [task for task in tasks if standing[task] == token]
        if ours:
            self._fill(job, queue, ours, deadline)
            self._session.append_and_apply([Offered(job.incarnation, token)], deadline)

    def _fill(self, job: Job, queue: str, tasks: Sequence[str], deadline: float) -> None:
        session = self._session
        name = queue_name(session.namespace, job, queue)
        began = monotonic()
        while True:
            session.made.add(name)
            session.queues.make_queue(name, deadline)
            try:
                if not session.writer.publish([(name, task.encode()) for task in tasks], deadline):
                    session.lease_queue(job, queue).poll_now()
                    return
                session.read_barrier(deadline)
            except FabricLost:
                if monotonic() > deadline:
                    raise
                if monotonic() - began > SILENT_S:
                    self._refill(job, queue, deadline)
                    return
            if job.deleted or job.kept is not None:
                return
            time.sleep(_RETRY_S)

    def _take_over(self, job: Job, queue: str, leases: LeaseQueue, deadline: float) -> None:
        """Takes over offers whose author has not published their messages in time."""
        tokens = {token for token in job.offers[queue].values() if token not in job.offered}
        now = monotonic()
        leases.unfilled = {token: leases.unfilled.get(token, now) for token in tokens}
        for token, since in leases.unfilled.items():
            if now - since > TAKE_OVER_AFTER_S:
                tasks = [task for task, of in job.offers[queue].items() if of == token]
                self._offer(job, Offer(job.incarnation, queue, tasks, secrets.token_hex(8), token), deadline)

    def _restore(self, job: Job, queue: str, leases: LeaseQueue, deadline: float) -> None:
        """Enqueues all open tasks again if the broker lost messages. A broker that is killed right after it declared a
        queue may lose confirmed messages. The only symptom is that fewer messages are ready or held than tasks are
        open."""
        if leases.missing_since is None or monotonic() - leases.missing_since < RESTORE_AFTER_S:
            return
        leases.missing_since = None
        session = self._session
        session.read_barrier(deadline)
        open_tasks = job.open_tasks(queue)
        if leases.unfilled or leases.count().total >= len(open_tasks) or not session.counts_held(deadline):
            return
        self._refill(job, queue, deadline)
        # Not before the refill: until then this queue is still in use.
        session.to_remove.add(leases.name)

    def _refill(self, job: Job, queue: str, deadline: float) -> None:
        """Enqueues all open tasks again, in a new queue."""
        open_tasks, round_ = job.open_tasks(queue), job.rounds.get(queue, 0) + 1
        again = Refill(job.incarnation, queue, open_tasks, secrets.token_hex(8), round_)
        self._session.append_and_apply([again], deadline)
        self._fill_if_ours(job, queue, open_tasks, again.token, deadline)
