"""The registry: all jobs, their streams and queues, and pending removals.

The registry is a stream of facts that all processes read in the same order. This module is the pure function from facts
to state. The first `Create` of a name after the deletion of its job wins. A job is identified by its incarnation, which
is never reused, and neither are the names of its streams and queues.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from cauce.fabric.names import Log

_DELETED_KEPT = 100_000
"""Number of offsets for which a deleted incarnation is remembered, to ignore a `Create` that is appended again."""


class Create(msgspec.Struct, frozen=True, tag="create"):
    job: str
    incarnation: str
    manifest: bytes


class LogGroups(msgspec.Struct, frozen=True, tag="shelves"):
    """Log groups whose streams are about to be declared. Appended first, so that a deletion also removes them."""

    incarnation: str
    names: list[str]


class Made(msgspec.Struct, frozen=True, tag="made"):
    """The streams exist, have confirmed a message, and may be written to. Some brokers fail if a stream is deleted
    while it is being declared. `tries` identifies the stream if it replaced an earlier one."""

    incarnation: str
    names: list[str]
    tries: dict[str, int] = {}


class Remake(msgspec.Struct, frozen=True, tag="remake"):
    """Replaces a stream that confirms no message and was never reported as `Made`, by one with another name. A broker
    that crashes during a declaration may leave such a stream behind."""

    incarnation: str
    name: str
    tries: int


class Offer(msgspec.Struct, frozen=True, tag="offer"):
    """Enqueues tasks. The first offer of a task wins, and its author publishes the task message. If the author seems to
    have crashed before that, the first offer with its token in `instead_of` wins."""

    incarnation: str
    queue: str
    tasks: list[str]
    token: str
    instead_of: str = ""


class Offered(msgspec.Struct, frozen=True, tag="offered"):
    """The task messages of an offer have been published."""

    incarnation: str
    token: str


class Refill(msgspec.Struct, frozen=True, tag="refill"):
    """The broker has lost messages of a queue: all open tasks are enqueued again, in a new queue for the next round.
    The first author for a round publishes them."""

    incarnation: str
    queue: str
    tasks: list[str]
    token: str
    round: int


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The tasks are finished; their leases must not be granted again."""

    incarnation: str
    queue: str
    tasks: list[str]


class Trim(msgspec.Struct, frozen=True, tag="trim"):
    """The job has ended; of its logs, in their stored form, only these remain."""

    incarnation: str
    keep: list[str]

    @property
    def kept(self) -> frozenset[Log]:
        return frozenset(map(Log.decode, self.keep))


class Delete(msgspec.Struct, frozen=True, tag="delete"):
    incarnation: str


class Swept(msgspec.Struct, frozen=True, tag="swept"):
    """All streams and queues of the trimmed or deleted job have been removed."""

    incarnation: str


class Standing(msgspec.Struct, frozen=True):
    """The complete state of an existing job."""

    job: str
    incarnation: str
    manifest: bytes
    created_at: int
    log_groups: list[str] = msgspec.field(name="shelves")
    made: list[str]
    offers: dict[str, dict[str, str]]
    offered: list[str]
    rounds: dict[str, int]
    finished: dict[str, list[str]]
    kept: list[str] | None
    tries: dict[str, int] = {}


class Renew(msgspec.Struct, frozen=True, tag="renew"):
    """A checkpoint of old jobs, appended before retention drops their facts. `seen` is the author's read offset: a
    reader that has not read everything since then cannot know whether the job was deleted in between."""

    seen: int
    jobs: list[Standing]


OfAJob = LogGroups | Made | Remake | Offer | Offered | Refill | Finished | Trim | Delete
Fact = Create | OfAJob | Swept | Renew

_decoder = msgspec.msgpack.Decoder(list[Fact])


def dump(facts: list[Fact]) -> bytes:
    return msgspec.msgpack.encode(facts)


def load(data: bytes) -> list[Fact]:
    return _decoder.decode(data)


@dataclass(eq=False)
class Job:
    """The state of a job. Times are offsets in the registry stream."""

    name: str
    incarnation: str
    manifest: bytes
    created_at: int
    appended_at: int
    log_groups: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    tries: dict[str, int] = field(default_factory=dict)
    """By log group, how many of its streams were replaced because they never became usable."""
    offers: dict[str, dict[str, str]] = field(default_factory=dict)
    """By queue, the tasks in their order, each with the token of its offer."""
    offered: set[str] = field(default_factory=set)
    rounds: dict[str, int] = field(default_factory=dict)
    """By queue, how often all its tasks were enqueued again."""
    finished: dict[str, set[str]] = field(default_factory=dict)
    kept: frozenset[Log] | None = None
    deleted: bool = False
    unswept: bool = False

    def accepts(self, log: Log) -> bool:
        return not self.deleted and (self.kept is None or log in self.kept)

    @property
    def under_way(self) -> bool:
        """Whether a process may be about to declare one of its streams or queues."""
        tokens = {token for tasks in self.offers.values() for token in tasks.values()}
        return not (self.log_groups <= self.made and tokens <= self.offered)

    def open_tasks(self, queue: str) -> list[str]:
        """The tasks that are enqueued and not finished."""
        finished = self.finished.get(queue, ())
        return [task for task in self.offers.get(queue, ()) if task not in finished]

    def finish(self, queue: str, tasks: Iterable[str]) -> None:
        self.finished.setdefault(queue, set()).update(tasks)

    def standing(self) -> Standing:
        kept = None if self.kept is None else [log.encode() for log in sorted(self.kept)]
        return Standing(
            self.name,
            self.incarnation,
            self.manifest,
            self.created_at,
            sorted(self.log_groups),
            sorted(self.made),
            self.offers,
            sorted(self.offered),
            self.rounds,
            {queue: sorted(tasks) for queue, tasks in self.finished.items()},
            kept,
            self.tries,
        )


class Registry:
    """The state after applying all facts before offset `next`."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.next = 0
        self.jobs: dict[str, Job] = {}
        self.incarnations: dict[str, Job] = {}
        self.unswept: dict[str, Job] = {}
        """Trimmed or deleted jobs whose streams and queues may still exist."""
        self._deleted: OrderedDict[str, int] = OrderedDict()
        self._ordered: list[str] | None = None

    def in_order(self) -> list[str]:
        """Names of jobs, oldest first."""
        if self._ordered is None:
            self._ordered = [job.name for job in sorted(self.jobs.values(), key=lambda job: job.created_at)]
        return list(self._ordered)

    def apply(self, offset: int, facts: list[Fact]) -> list[Job]:
        """Applies the facts at an offset. Returns the jobs that they trimmed or deleted."""
        if self.start is None:
            self.start = offset
        self.next = offset + 1
        ended = [job for fact in facts if (job := self._apply(offset, fact)) is not None]
        while self._deleted and next(iter(self._deleted.values())) < offset - _DELETED_KEPT:
            self._deleted.popitem(last=False)
        return ended

    def _apply(self, offset: int, fact: Fact) -> Job | None:
        match fact:
            case Create():
                self._create(offset, fact)
            case Renew():
                for each in fact.jobs:
                    self._renew(offset, each, fact.seen)
            case Swept():
                self._swept(fact.incarnation)
            case _:
                if isinstance(fact, Delete):
                    self._deleted[fact.incarnation] = offset
                job = self.incarnations.get(fact.incarnation) or self.unswept.get(fact.incarnation)
                return None if job is None else self._change(job, fact)
        return None

    def _create(self, offset: int, fact: Create) -> None:
        if fact.job not in self.jobs and fact.incarnation not in self._deleted:
            self._add(Job(fact.job, fact.incarnation, fact.manifest, offset, offset))

    def _add(self, job: Job) -> None:
        self.jobs[job.name] = self.incarnations[job.incarnation] = job
        self._ordered = None

    def _change(self, job: Job, fact: OfAJob) -> Job | None:
        match fact:
            case Made():
                job.made.update(name for name in fact.names if fact.tries.get(name, 0) == job.tries.get(name, 0))
            case Offered():
                job.offered.add(fact.token)
            case Finished():
                job.finish(fact.queue, fact.tasks)
            case _ if job.deleted:
                # Too late. The author sees the deletion as well and declares nothing.
                return None
            case LogGroups():
                job.log_groups.update(fact.names)
            case Remake():
                if fact.name not in job.made and fact.tries == job.tries.get(fact.name, 0) + 1:
                    job.tries[fact.name] = fact.tries
            case Offer() if job.kept is None:
                self._offer(job, fact)
            case Refill() if job.kept is None and fact.round == job.rounds.get(fact.queue, 0) + 1:
                job.rounds[fact.queue] = fact.round
                job.offers.setdefault(fact.queue, {}).update(dict.fromkeys(fact.tasks, fact.token))
            case Trim():
                job.kept = fact.kept if job.kept is None else job.kept & fact.kept
                self._to_sweep(job)
                return job
            case Delete():
                self._forget(job)
                job.deleted = True
                self._to_sweep(job)
                return job
        return None

    def _offer(self, job: Job, fact: Offer) -> None:
        tasks = job.offers.setdefault(fact.queue, {})
        for task in fact.tasks:
            standing = tasks.setdefault(task, fact.token)
            if standing == fact.instead_of and standing not in job.offered:
                tasks[task] = fact.token

    def _to_sweep(self, job: Job) -> None:
        job.unswept = True
        self.unswept[job.incarnation] = job

    def _swept(self, incarnation: str) -> None:
        job = self.unswept.pop(incarnation, None)
        if job is not None:
            job.unswept = False

    def _forget(self, job: Job) -> None:
        del self.jobs[job.name], self.incarnations[job.incarnation]
        self._ordered = None

    def _renew(self, offset: int, fact: Standing, seen: int) -> None:
        """Never revives a deleted job: ignores the checkpoint if a deletion since then may have been missed."""
        known = self.incarnations.get(fact.incarnation)
        if known is None:
            if fact.incarnation in self._deleted or self.start is None or seen < self.start:
                return
            known = self._stand_in(offset, fact)
            if known is None:
                return
        known.appended_at = offset
        known.log_groups.update(fact.log_groups)
        known.made.update(fact.made)
        known.tries.update({name: max(tries, known.tries.get(name, 0)) for name, tries in fact.tries.items()})
        known.offered.update(fact.offered)
        for queue, finished in fact.finished.items():
            known.finish(queue, finished)
        for queue, tasks in fact.offers.items():
            if fact.rounds.get(queue, 0) > known.rounds.get(queue, 0):
                known.rounds[queue] = fact.rounds[queue]
                known.offers[queue] = {}
            for task, token in tasks.items():
                known.offers.setdefault(queue, {}).setdefault(task, token)
        if fact.kept is not None and known.kept is None:
            known.kept = frozenset(map(Log.decode, fact.kept))

    def _stand_in(self, offset: int, fact: Standing) -> Job | None:
        """Restores a job whose `Create` was dropped by retention. It replaces a job of the same name that was created
        later."""
        other = self.jobs.get(fact.job)
        if other is not None:
            if other.created_at <= fact.created_at:
                return None
            self._forget(other)
        made = Job(fact.job, fact.incarnation, fact.manifest, fact.created_at, offset)
        self._add(made)
        return made
