"""Tasks over the session: offered once, whoever offers them how often, and taken one at a time.

An offer stands in the registry before the queue is filled. If its author dies in between, or the broker loses what it
was filled with, whoever finds the queue empty fills it again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq_lease import LeaseQueue, RabbitLease
from cauce.fabric.rabbitmq_queues import queue_name
from cauce.fabric.rabbitmq_registry import Job, Offer, Offered, Refill
from cauce.fabric.rabbitmq_session import Session

MEND_AFTER_S = 5.0
"""For so long nobody else fills a queue that was to be filled."""
RESTORE_AFTER_S = 20.0
"""For so long a queue must have lacked messages before they are taken for lost: one without a leader seems to lack all,
and to elect one takes less."""
SILENT_S = 8.0
"""A queue that takes no message for so long is left, and another one filled: a broker that died over the making of one
may leave such a thing behind."""
_RETRY_S = 0.05


class Offers:
    def __init__(self, session: Session) -> None:
        self._session = session

    def offer(self, name: str, queue: str, tasks: Sequence[str], deadline: float) -> None:
        job = self._session.find_surely(name, deadline)
        if job is None or job.kept is not None:
            return
        known = job.offers.get(queue, {})
        new = [task for task in dict.fromkeys(tasks) if task not in known]
        if new:
            self._offer(job, Offer(job.incarnation, queue, new, secrets.token_hex(8)), deadline)

    def take(self, name: str, queue: str, deadline: float) -> RabbitLease | None:
        job = self._session.find(name)
        if job is None or job.kept is not None or queue not in job.offers:
            return None
        leases = self._session.lease_queue(job, queue)
        leases.told((len(job.offers[queue]), len(job.offered)))
        lease = leases.take(self._session.lease_queues)
        if lease is None and leases.found is not None:
            self._mend(job, queue, leases, deadline)
            leases.lacks(leases.found.total < len(job.open_tasks(queue)))
            self._restore(job, queue, leases, deadline)
        return lease

    def _offer(self, job: Job, offer: Offer, deadline: float) -> None:
        self._session.say([offer], deadline)
        self._fill_if_ours(job, offer.queue, offer.tasks, offer.token, deadline)

    def _fill_if_ours(self, job: Job, queue: str, tasks: Sequence[str], token: str, deadline: float) -> None:
        """After an offer was said: if it stands, it is ours to fulfil."""
        if job.deleted or job.kept is not None:
            return
        standing = job.offers[queue]
        ours = [task for task in tasks if standing[task] == token]
        if ours:
            self._fill(job, queue, ours, deadline)
            self._session.say([Offered(job.incarnation, token)], deadline)

    def _fill(self, job: Job, queue: str, tasks: Sequence[str], deadline: float) -> None:
        session = self._session
        name = queue_name(session.namespace, job, queue)
        began = monotonic()
        while True:
            session.made.add(name)
            session.queues.make_queue(name, deadline)
            try:
                if not session.writer.publish([(name, task.encode()) for task in tasks], deadline):
                    session.lease_queue(job, queue).look_at_once()
                    return
                session.catch_up(deadline)
            except FabricLost:
                if monotonic() > deadline:
                    raise
                if monotonic() - began > SILENT_S:
                    self._refill(job, queue, deadline)
                    return
            if job.deleted or job.kept is not None:
                return
            time.sleep(_RETRY_S)

    def _mend(self, job: Job, queue: str, leases: LeaseQueue, deadline: float) -> None:
        """Fills a queue in the place of who offered its tasks and was not heard of since."""
        tokens = {token for token in job.offers[queue].values() if token not in job.offered}
        now = monotonic()
        leases.unfilled = {token: leases.unfilled.get(token, now) for token in tokens}
        for token, since in leases.unfilled.items():
            if now - since > MEND_AFTER_S:
                tasks = [task for task, of in job.offers[queue].items() if of == token]
                self._offer(job, Offer(job.incarnation, queue, tasks, secrets.token_hex(8), token), deadline)

    def _restore(self, job: Job, queue: str, leases: LeaseQueue, deadline: float) -> None:
        """Fills a queue anew whose messages the broker has lost. One that is killed right after it has made a queue
        may do that, with all it has confirmed; there is no other sign of it than that tasks are open, and fewer of
        them wait or are held."""
        if leases.lacking_since is None or monotonic() - leases.lacking_since < RESTORE_AFTER_S:
            return
        leases.lacking_since = None
        session = self._session
        session.catch_up(deadline)
        open_tasks = job.open_tasks(queue)
        if leases.unfilled or leases.count().total >= len(open_tasks) or not session.counts_held(deadline):
            return
        self._refill(job, queue, deadline)
        # Not before: until another one stands in its place, it is the one that is looked at.
        session.to_remove.add(leases.name)

    def _refill(self, job: Job, queue: str, deadline: float) -> None:
        """All open tasks are offered anew, in another queue."""
        open_tasks, round_ = job.open_tasks(queue), job.rounds.get(queue, 0) + 1
        again = Refill(job.incarnation, queue, open_tasks, secrets.token_hex(8), round_)
        self._session.say([again], deadline)
        self._fill_if_ours(job, queue, open_tasks, again.token, deadline)
