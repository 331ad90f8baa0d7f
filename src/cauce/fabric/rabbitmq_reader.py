"""Reads one stream from an offset on, and sorts what comes by log. What it keeps is a cache: a position is all that a
reader of a log needs to go on with another one.

A position is one number: the offset of a message, and how many of its records have been taken. So of two positions the
greater is the farther one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Position
from cauce.fabric.rabbitmq_messages import PATIENCE, Assembly, Message, decode
from cauce.fabric.rabbitmq_subscription import Delivery, Subscription, Subscriptions, is_cut
from cauce.wire.records import Record

_KEY = "at"
_INDEX_BITS = 16
KEPT_BYTES = 4 << 20
"""What is kept of a log that somebody reads, while others of the stream are read."""
UNASKED_BYTES = 256 << 10
"""What is kept of all logs of a stream that nobody has asked for."""
_LOOK_BACK = 64


def at_offset(offset: int) -> int:
    return offset << _INDEX_BITS


def place_of(position: Position) -> int:
    return position.get(_KEY, 0)


def position_at(place: int) -> Position:
    return {_KEY: place}


def offset_of(place: int) -> int:
    return place >> _INDEX_BITS


@dataclass
class _Log:
    """Records of one log that wait, each with the place behind it. All of the log from `floor` on are here, or come."""

    floor: int
    asked: bool = False
    waiting: deque[tuple[int, Record]] = field(default_factory=deque)
    bytes: int = 0

    def add(self, behind: int, record: Record) -> None:
        self.waiting.append((behind, record))
        self.bytes += len(record.body)

    def has(self, place: int) -> bool:
        return bool(self.waiting) and self.waiting[-1][0] > place

    def give(self, place: int, limit_bytes: int) -> tuple[list[Record], int]:
        """Records from a place on, and the place behind them. What lies before it is not kept any longer."""
        records: list[Record] = []
        size = 0
        while self.waiting:
            behind, record = self.waiting[0]
            if behind > place:
                if records and size + len(record.body) > limit_bytes:
                    break
                records.append(record)
                size += len(record.body)
                place = behind
            self.waiting.popleft()
            self.bytes -= len(record.body)
        self.floor = place
        return records, place


class Reader:
    def __init__(self, family: Subscriptions, stream: str, start: int, own: bytes) -> None:
        self.stream = stream
        self.next = start
        """The offset of the next message whose records are to be sorted."""
        self.end = start
        """The offset behind all that has come."""
        self.own_seq = -1
        """The seq of the last message of our own that came by."""
        self._family = family
        self._own = own
        self._start = start
        self._logs: dict[str, _Log] = {}
        self._dropped: set[str] = set()
        self._assembly = Assembly(PATIENCE)
        self._expected = start
        self._looked_back_to: int | None = None
        self._subscription: Subscription | None = None

    @property
    def is_open(self) -> bool:
        return self._subscription is not None and not self._subscription.ended

    @property
    def used_at(self) -> float:
        return 0.0 if self._subscription is None else self._subscription.used_at

    def open(self, deadline: float) -> bool:
        """Subscribes, if that is not so already. False if there is no such stream (yet)."""
        if not self.is_open:
            self._subscription = self._family.start(self.stream, self._expected, deadline)
        return self.is_open

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def can_give(self, log: str, place: int) -> bool:
        """Whether nothing of the log between the place and what is still to come was let go of."""
        if log in self._dropped:
            return place >= at_offset(self.next)
        known = self._logs.get(log)
        return place >= (at_offset(self._start) if known is None else known.floor)

    def give(self, log: str, place: int, limit_bytes: int) -> tuple[list[Record], int]:
        """What has come of a log from a place on, and the place behind it; only where `can_give`."""
        known = self._logs.get(log)
        if known is None:
            known = self.adopt(log, place)
        known.asked = True
        try:
            while known.bytes <= limit_bytes and self._advance(log):
                pass
        except CorruptRecord:
            # What lies before the damage can be read.
            if not known.has(place):
                raise
        return known.give(place, limit_bytes)

    def adopt(self, log: str, place: int) -> _Log:
        """It is known that there is nothing of the log between the place and `next`."""
        self._dropped.discard(log)
        self._logs[log] = _Log(place)
        return self._logs[log]

    def _advance(self, log: str) -> bool:
        """Looks at the next message that has come. False if none has."""
        found = None if self._subscription is None else self._subscription.take()
        if found is None:
            return False
        if found.offset >= self._expected:
            try:
                self._take(found, log)
            except CorruptRecord:
                # Whoever reads on meets the same again.
                self.close()
                raise
        return True

    def _take(self, found: Delivery, log: str) -> None:
        where = f"stream {self.stream}, message {found.offset}"
        if is_cut(self._expected, found.offset):
            raise CorruptRecord(
                f"{where} follows {self._expected - 1}: what stood between is gone; see that no policy of the broker "
                "limits the age or the length of streams, and run the job again"
            )
        self.end = max(self.end, found.offset + 1)
        message = decode(found.body, where)
        finished = None
        if message.chunk is not None:
            finished = self._assembly.add(message.author, message.chunk, found.offset, where)
            if self._assembly.missing and found.offset >= self.next:
                self._look_back(found.offset, where)
                return
        self._expected = found.offset + 1
        if found.offset >= self.next:
            self.next, self._looked_back_to = self._expected, None
            self._sort(found.offset, message, finished, log)

    def _sort(self, offset: int, message: Message, finished: Record | None, log: str) -> None:
        if message.author == self._own:
            self.own_seq = max(self.own_seq, message.seq)
        records = message.records if finished is None else [finished]
        if not records or message.log in self._dropped:
            return
        known = self._logs.setdefault(message.log, _Log(at_offset(self._start)))
        for index, record in enumerate(records, start=1):
            known.add(at_offset(offset + 1) if index == len(records) else at_offset(offset) + index, record)
        if message.log != log:
            self._keep_bounds(message.log, known)

    def _look_back(self, offset: int, where: str) -> None:
        """A record ends here whose beginning lies before our start, or was forgotten. It is looked for, twice as far
        back each time; of all else that lies there nothing is taken."""
        if self._looked_back_to == 0:
            raise CorruptRecord(f"{where}: the beginning of the record that ends there is not in the stream")
        distance = _LOOK_BACK if self._looked_back_to is None else 2 * (offset - self._looked_back_to)
        self._expected = self._looked_back_to = max(offset - distance, 0)
        # A new one: with the pieces that we have, the record would be whole again before we are here.
        self._assembly = Assembly(PATIENCE + distance)
        self.close()

    def _keep_bounds(self, log: str, known: _Log) -> None:
        """What nobody reads is let go of: whoever wants it reads the stream again for it."""
        unasked = sum(each.bytes for each in self._logs.values() if not each.asked)
        if known.bytes > KEPT_BYTES if known.asked else unasked > UNASKED_BYTES:
            del self._logs[log]
            self._dropped.add(log)
