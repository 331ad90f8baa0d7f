"""A task's own log: what it began, what it finished, where it stood. Its state is a pure function of it."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from cauce.errors import JobFailed
from cauce.fabric.contract import Fabric, Position
from cauce.wire.records import Kind, Record, record

_READ_BYTES = 1 << 26


@dataclass
class Past:
    """What the journal says: which numbers are done, how often each was begun and not broken off by who had begun it,
    how far the input was read with the last one done, how many there are in all if that was seen by then, and the last
    snapshot."""

    done: set[int] = field(default_factory=set)
    begun: dict[int, int] = field(default_factory=dict)
    position: Position = field(default_factory=dict)
    count: int | None = None
    snapshot: bytes | None = None


class _Begun(msgspec.Struct, frozen=True):
    """`which` tells one beginning from another: a record may be in the log twice."""

    which: str
    life: str | None = None


class _Done(msgspec.Struct, frozen=True):
    """`seen` is how far the journal itself had been read by who wrote this: what it takes for granted."""

    position: Position
    count: int | None
    seen: Position = {}


def past_of(records: Iterable[Record], life: str | None = None) -> Past:
    """Of what was begun, only what was begun in this life counts, if one is given: a run that was killed as a whole
    blames nobody."""
    past = Past()
    begun: dict[str, int] = {}
    broken_off: set[str] = set()
    for each in records:
        match each.kind:
            case Kind.BEGAN:
                noted_begun = msgspec.json.decode(each.body, type=_Begun)
                if life is None or noted_begun.life == life:
                    begun[noted_begun.which] = each.seq
            case Kind.BROKEN_OFF:
                broken_off.add(msgspec.json.decode(each.body, type=_Begun).which)
            case Kind.DONE:
                past.done.add(each.seq)
                noted = msgspec.json.decode(each.body, type=_Done)
                past.position = _further(past.position, noted.position)
                past.count = past.count if noted.count is None else noted.count
            case Kind.SNAPSHOT:
                past.snapshot = each.body
    past.begun = dict(Counter(seq for which, seq in begun.items() if which not in broken_off))
    return past


def _further(one: Position, other: Position) -> Position:
    """The farther of two positions of one reader. They may come out of order from a predecessor that lives on."""
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in {*one, *other}}


def _taken_for_granted(records: Iterable[Record]) -> Iterator[Position]:
    for each in records:
        if each.kind == Kind.DONE:
            yield msgspec.json.decode(each.body, type=_Done).seen


def _behind(position: Position, other: Position) -> bool:
    return any(position.get(key, 0) < reached for key, reached in other.items())


class Journal:
    """Writes what `past_of` reads."""

    def __init__(
        self, fabric: Fabric, job: str, log: str, producer: int, on: bool = True, life: str | None = None
    ) -> None:
        self._life = life
        self._under_way: tuple[int, bytes] | None = None
        self._fabric = fabric
        self._seen: Position = {}
        self._on = on
        self._job = job
        self._log = log
        self._producer = producer

    def past(self) -> Past | None:
        """What the journal says; None while something is not to be seen yet that an entry takes for granted.

        A note of one holder counts as done what its predecessors noted. Where their notes come late, going on
        behind its position would leave out what only they did.
        """
        records: list[Record] = []
        position: Position = {}
        self._fabric.catch_up(self._job, self._log)
        while True:
            batch = self._fabric.read(self._job, self._log, position, _READ_BYTES)
            if batch.position == position:
                break
            records += batch.records
            position = batch.position
        if any(_behind(position, seen) for seen in _taken_for_granted(records)):
            return None
        self._seen = position
        return past_of(records, self._life)

    def began(self, seq: int) -> None:
        """What was begun and is neither done nor broken off when another looks has killed its worker."""
        if self._under_way is None or self._under_way[0] != seq:
            self._under_way = (seq, msgspec.json.encode(_Begun(secrets.token_hex(8), self._life)))
        self._append(Kind.BEGAN, *self._under_way)

    def done(self, seq: int, position: Position, count: int | None) -> None:
        self._append(Kind.DONE, seq, msgspec.json.encode(_Done(position, count, self._seen)))
        self._under_way = None

    def break_off(self) -> None:
        """Says that we live on, if anything is under way."""
        if self._under_way is not None:
            self._append(Kind.BROKEN_OFF, *self._under_way)
            self._under_way = None

    def snapshot(self, body: bytes) -> None:
        self._append(Kind.SNAPSHOT, 0, body)

    def _append(self, kind: Kind, seq: int, body: bytes = b"") -> None:
        if self._on:
            self._fabric.append(self._job, self._log, [record(kind, self._producer, seq, body)])


def give_up_if_lethal(past: Past, seq: int, attempts: int, what: str) -> None:
    """Raises if work on this has ended so often in the death of its worker."""
    if seq not in past.done and past.begun.get(seq, 0) >= attempts:
        raise JobFailed(
            f"{what} has killed its worker {past.begun[seq]} times and is set aside: look at the data there and at "
            "the memory of this machine, then run the job again"
        )
