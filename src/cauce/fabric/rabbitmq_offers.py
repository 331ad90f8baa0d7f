"""Tasks over the session: offered once, whoever offers them how often, and taken one at a time.

An offer stands in the registry before the queue is filled. If its author dies in between, whoever finds the queue
empty fills it in his place.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.rabbitmq_lease import LeaseQueue, RabbitLease
from cauce.fabric.rabbitmq_queues import queue_name
from cauce.fabric.rabbitmq_registry import Job, Offer, Offered
from cauce.fabric.rabbitmq_session import Session

MEND_AFTER_S = 5.0
"""For so long nobody else fills a queue that was to be filled."""
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
        if leases.found_empty:
            self._mend(job, queue, leases, deadline)
        return lease

    def _offer(self, job: Job, offer: Offer, deadline: float) -> None:
        self._session.say([offer], deadline)
        if job.deleted or job.kept is not None:
            return
        standing = job.offers[offer.queue]
        ours = [task for task in offer.tasks if standing[task] == offer.token]
        if ours:
            self._fill(job, offer.queue, ours, deadline)
            self._session.say([Offered(job.incarnation, offer.token)], deadline)

    def _fill(self, job: Job, queue: str, tasks: Sequence[str], deadline: float) -> None:
        session = self._session
        name = queue_name(session.namespace, job, queue)
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
            if job.deleted or job.kept is not None:
                return
            time.sleep(_RETRY_S)

    def _mend(self, job: Job, queue: str, leases: LeaseQueue, deadline: float) -> None:
        """Fills a queue in the place of who offered its tasks and was not heard of since."""
        tokens = set(job.offers[queue].values()) - job.offered
        now = monotonic()
        leases.unfilled = {token: leases.unfilled.get(token, now) for token in tokens}
        for token, since in leases.unfilled.items():
            if now - since > MEND_AFTER_S:
                tasks = [task for task, of in job.offers[queue].items() if of == token]
                self._offer(job, Offer(job.incarnation, queue, tasks, secrets.token_hex(8), token), deadline)
