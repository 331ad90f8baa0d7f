"""The logs of one stream as one object reads them: mostly with one reader for all, and with one more for a log that is
read at another place than it was left at.

A read that finds nothing has looked at all that this object has ever seen of the stream, and at what it has said there.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.contract import Batch, Position
from cauce.fabric.rabbitmq_reader import Reader, offset_of, place_of, position_at
from cauce.fabric.rabbitmq_subscription import Subscriptions

FIRST_S = 0.05
"""How long the first read of a stream waits for what is already there."""
_ABSENT_S = 0.05
"""A stream that was not there is not looked for again before."""
_WAIT_S = 0.1
_REMIND_S = 0.5
"""If our own words have not come by then, they stand before the place where we read: something said anew will come."""


class Shelf:
    def __init__(self, family: Subscriptions, stream: str, own: bytes) -> None:
        self.stream = stream
        self._family = family
        self._own = own
        self._main: Reader | None = None
        self._alone: dict[str, Reader] = {}
        self._known_end = 0
        self._own_seq = -1
        self._said: dict[str, int] = {}
        self._first_until = 0.0
        self._absent_until = 0.0

    def said(self, log: str, seq: int) -> None:
        """A message of ours about this log stands in the stream."""
        self._said[log] = max(seq, self._said.get(log, -1))

    @property
    def readers(self) -> list[Reader]:
        return [each for each in (self._main, *self._alone.values()) if each is not None and each.is_open]

    def read(
        self,
        log: str,
        position: Position,
        limit_bytes: int,
        deadline: float,
        alive: Callable[[], bool],
        remind: Callable[[], None],
    ) -> Batch:
        """`alive` tells whether the stream is still to be read at all; `remind` says something in it."""
        place = place_of(position)
        reader = self._reader(log, place)
        reminded_at = monotonic()
        while True:
            seen = self._family.news.count
            if self._open(log, reader, deadline):
                records, behind = reader.give(log, place, limit_bytes)
                self._note(reader)
                if records:
                    return Batch(records, position_at(behind))
            if self._is_up_to_date(log, reader):
                self._reunite(log, place, reader)
                return Batch([], dict(position))
            if not alive():
                return Batch([], dict(position))
            if monotonic() > deadline:
                raise FabricLost(f"stream {self.stream} is not delivered: see that RabbitMQ is well, and try again")
            if self._own_seq < self._said.get(log, -1) and monotonic() - reminded_at > _REMIND_S:
                remind()
                reminded_at = monotonic()
            self._family.news.wait(seen, _WAIT_S)

    def rest(self, idle_since: float) -> None:
        """If nobody has read since then, keeps only what cannot be read again: what we have said and seen."""
        if all(reader.used_at < idle_since for reader in self.readers):
            self.close()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        self._main = None
        self._alone.clear()

    def _reader(self, log: str, place: int) -> Reader:
        if self._main is None:
            self._main = Reader(self._family, self.stream, offset_of(place), self._own)
            self._first_until = monotonic() + FIRST_S
        if self._main.can_give(log, place):
            return self._main
        alone = self._alone.get(log)
        if alone is not None and alone.can_give(log, place):
            return alone
        if alone is not None:
            alone.close()
        self._alone[log] = Reader(self._family, self.stream, offset_of(place), self._own)
        return self._alone[log]

    def _open(self, log: str, reader: Reader, deadline: float) -> bool:
        """Whether the reader can be asked. One that nothing is expected of is not waited for."""
        if reader.is_open:
            return True
        if self._is_up_to_date(log, reader) and (not self._family.link.up or monotonic() < self._absent_until):
            return False
        if not reader.open(deadline):
            self._absent_until = monotonic() + _ABSENT_S
        return reader.is_open

    def _note(self, reader: Reader) -> None:
        self._known_end = max(self._known_end, reader.end)
        self._own_seq = max(self._own_seq, reader.own_seq)

    def _is_up_to_date(self, log: str, reader: Reader) -> bool:
        if reader.is_open and not reader.end and monotonic() < self._first_until:
            return False
        return reader.next >= self._known_end and self._own_seq >= self._said.get(log, -1)

    def _reunite(self, log: str, place: int, reader: Reader) -> None:
        """A reader that has caught up with the common one is not needed any longer."""
        main = self._main
        if main is not None and reader is not main and reader.next >= main.next:
            main.adopt(log, place)
            self._alone.pop(log, None)
            reader.close()
