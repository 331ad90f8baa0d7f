"""What the registry says: which jobs there are, which streams and queues are theirs, which of them are to go.

The registry is a stream of facts that everybody reads in the same order; this is the pure function from facts to state.
The first `Create` of a name since its job was deleted stands; a job is known by its incarnation, which is never used
again, and so are the names of its streams and queues.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

_DEAD_KEPT = 100_000
"""How many offsets long it is remembered that an incarnation is gone: whoever says again what he had said before."""


class Create(msgspec.Struct, frozen=True, tag="create"):
    job: str
    incarnation: str
    manifest: bytes


class Shelves(msgspec.Struct, frozen=True, tag="shelves"):
    """Said before a stream is made, so that whoever deletes the job knows of it."""

    incarnation: str
    names: list[str]


class Made(msgspec.Struct, frozen=True, tag="made"):
    """The streams are there and have taken a message: from now on they may be written to. To remove one while it is
    being made is more than some brokers can bear. `tries` tells which one is meant, where it is not the first."""

    incarnation: str
    names: list[str]
    tries: dict[str, int] = {}


class Remake(msgspec.Struct, frozen=True, tag="remake"):
    """A stream that takes no message, of which nobody has said that it is made: a broker that dies over the making of
    one may leave such a thing behind. Another one takes its place, under another name."""

    incarnation: str
    name: str
    tries: int


class Offer(msgspec.Struct, frozen=True, tag="offer"):
    """Of each task the first offer stands, and its author fills the queue with it. If he seems to have died over it,
    the first offer instead of his stands."""

    incarnation: str
    queue: str
    tasks: list[str]
    token: str
    instead_of: str = ""


class Offered(msgspec.Struct, frozen=True, tag="offered"):
    """The queue has been filled."""

    incarnation: str
    token: str


class Refill(msgspec.Struct, frozen=True, tag="refill"):
    """The broker has lost what a queue held: all open tasks are offered anew, in another queue for the next round.
    The first to say so for a round fills it."""

    incarnation: str
    queue: str
    tasks: list[str]
    token: str
    round: int


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """Nobody is to have these tasks any more."""

    incarnation: str
    queue: str
    tasks: list[str]


class Trim(msgspec.Struct, frozen=True, tag="trim"):
    incarnation: str
    keep: list[str]


class Delete(msgspec.Struct, frozen=True, tag="delete"):
    incarnation: str


class Swept(msgspec.Struct, frozen=True, tag="swept"):
    """All streams and queues that were to go are gone."""

    incarnation: str


class Standing(msgspec.Struct, frozen=True):
    """All that is known of a job that stands."""

    job: str
    incarnation: str
    manifest: bytes
    created_at: int
    shelves: list[str]
    made: list[str]
    offers: dict[str, dict[str, str]]
    offered: list[str]
    rounds: dict[str, int]
    finished: dict[str, list[str]]
    kept: list[str] | None
    tries: dict[str, int] = {}


class Renew(msgspec.Struct, frozen=True, tag="renew"):
    """Says again what was said long ago, so that it is not cut off with the old end of the stream. `seen` is how far
    its author had read: who has not seen all since then cannot know whether the job was deleted meanwhile."""

    seen: int
    jobs: list[Standing]


OfAJob = Shelves | Made | Remake | Offer | Offered | Refill | Finished | Trim | Delete
Fact = Create | OfAJob | Swept | Renew

_decoder = msgspec.msgpack.Decoder(list[Fact])


def dump(facts: list[Fact]) -> bytes:
    return msgspec.msgpack.encode(facts)


def load(data: bytes) -> list[Fact]:
    return _decoder.decode(data)


@dataclass(eq=False)
class Job:
    """A job as the registry knows it. Times are offsets."""

    name: str
    incarnation: str
    manifest: bytes
    created_at: int
    said_at: int
    shelves: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    tries: dict[str, int] = field(default_factory=dict)
    """By shelf, how many streams were made for it in vain."""
    offers: dict[str, dict[str, str]] = field(default_factory=dict)
    """By queue, the tasks in their order, each with the token of its offer."""
    offered: set[str] = field(default_factory=set)
    rounds: dict[str, int] = field(default_factory=dict)
    """By queue, how often it was filled anew."""
    finished: dict[str, set[str]] = field(default_factory=dict)
    kept: frozenset[str] | None = None
    deleted: bool = False
    unswept: bool = False

    def takes(self, log: str) -> bool:
        return not self.deleted and (self.kept is None or log in self.kept)

    @property
    def under_way(self) -> bool:
        """Whether somebody may be about to make one of its streams or queues."""
        tokens = {token for tasks in self.offers.values() for token in tasks.values()}
        return not (self.shelves <= self.made and tokens <= self.offered)

    def open_tasks(self, queue: str) -> list[str]:
        """Those offered and not finished."""
        finished = self.finished.get(queue, ())
        return [task for task in self.offers.get(queue, ()) if task not in finished]

    def finish(self, queue: str, tasks: Iterable[str]) -> None:
        self.finished.setdefault(queue, set()).update(tasks)

    def standing(self) -> Standing:
        kept = None if self.kept is None else sorted(self.kept)
        return Standing(
            self.name,
            self.incarnation,
            self.manifest,
            self.created_at,
            sorted(self.shelves),
            sorted(self.made),
            self.offers,
            sorted(self.offered),
            self.rounds,
            {queue: sorted(tasks) for queue, tasks in self.finished.items()},
            kept,
            self.tries,
        )


class Registry:
    """The state after the facts up to `next`."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.next = 0
        self.jobs: dict[str, Job] = {}
        self.incarnations: dict[str, Job] = {}
        self.unswept: dict[str, Job] = {}
        """Those trimmed or deleted of which not everything is known to be gone."""
        self._dead: OrderedDict[str, int] = OrderedDict()
        self._ordered: list[str] | None = None

    def in_order(self) -> list[str]:
        """Names of jobs, oldest first."""
        if self._ordered is None:
            self._ordered = [job.name for job in sorted(self.jobs.values(), key=lambda job: job.created_at)]
        return list(self._ordered)

    def apply(self, offset: int, facts: list[Fact]) -> list[Job]:
        """Takes in what stands at an offset. Returns the jobs that were trimmed or deleted by it."""
        if self.start is None:
            self.start = offset
        self.next = offset + 1
        ended = [job for fact in facts if (job := self._apply(offset, fact)) is not None]
        while self._dead and next(iter(self._dead.values())) < offset - _DEAD_KEPT:
            self._dead.popitem(last=False)
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
                    self._dead[fact.incarnation] = offset
                job = self.incarnations.get(fact.incarnation) or self.unswept.get(fact.incarnation)
                return None if job is None else self._change(job, fact)
        return None

    def _create(self, offset: int, fact: Create) -> None:
        if fact.job not in self.jobs and fact.incarnation not in self._dead:
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
                # He who says so sees that it comes too late, and makes nothing.
                return None
            case Shelves():
                job.shelves.update(fact.names)
            case Remake():
                if fact.name not in job.made and fact.tries == job.tries.get(fact.name, 0) + 1:
                    job.tries[fact.name] = fact.tries
            case Offer() if job.kept is None:
                self._offer(job, fact)
            case Refill() if job.kept is None and fact.round == job.rounds.get(fact.queue, 0) + 1:
                job.rounds[fact.queue] = fact.round
                job.offers.setdefault(fact.queue, {}).update(dict.fromkeys(fact.tasks, fact.token))
            case Trim():
                job.kept = frozenset(fact.keep) if job.kept is None else job.kept & frozenset(fact.keep)
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
        """Revives nothing: who cannot know whether the job was deleted since leaves it out."""
        known = self.incarnations.get(fact.incarnation)
        if known is None:
            if fact.incarnation in self._dead or self.start is None or seen < self.start:
                return
            known = self._stand_in(offset, fact)
            if known is None:
                return
        known.said_at = offset
        known.shelves.update(fact.shelves)
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
            known.kept = frozenset(fact.kept)

    def _stand_in(self, offset: int, fact: Standing) -> Job | None:
        """A job whose creation was cut off with the old end of the stream. One of its name that was created later
        was created in vain."""
        other = self.jobs.get(fact.job)
        if other is not None:
            if other.created_at <= fact.created_at:
                return None
            self._forget(other)
        made = Job(fact.job, fact.incarnation, fact.manifest, fact.created_at, offset)
        self._add(made)
        return made
