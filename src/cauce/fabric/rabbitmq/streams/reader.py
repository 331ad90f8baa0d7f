"""Reads one stream from an offset on and demultiplexes it by log. Its buffers are only a cache: any reader can resume
from a position.

A position is one integer, the cursor: the offset of a message and the number of its records already read. Cursors
compare in stream order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Position
from cauce.fabric.rabbitmq.streams.messages import PATIENCE, Assembly, Message, decode
from cauce.fabric.rabbitmq.streams.subscription import (
    AT_END,
    IDLE_S,
    SILENT_S,
    Delivery,
    Subscription,
    Subscriptions,
    is_cut,
)
from cauce.fabric.records import Record

_KEY = "at"
_INDEX_BITS = 16
BUFFERED_BYTES = 4 << 20
"""Maximum buffered bytes of a log in use, while other logs of the stream are read."""
UNREQUESTED_BYTES = 256 << 10
"""Maximum buffered bytes of all logs of a stream that were not requested."""
MOST_GAPS = 2
"""How often a reader subscribes again before it continues after a gap, or counts messages as missing."""
_LOOK_BACK = 64


def at_offset(offset: int) -> int:
    return offset << _INDEX_BITS


def cursor_of(position: Position) -> int:
    return position.offset(_KEY)


def position_at(cursor: int) -> Position:
    return Position({_KEY: cursor})


def offset_of(cursor: int) -> int:
    return cursor >> _INDEX_BITS


def is_newer(message: Message, author: bytes, seq: int) -> bool:
    """Whether the message is of this author and has this sequence number or a later one."""
    return message.author == author and message.seq >= seq


def lost_messages(where: str, read: int) -> CorruptRecord:
    return CorruptRecord(
        f"{where} was appended after message {read} had been read: the broker has lost confirmed messages, as in a "
        "power failure of a majority of its nodes; run the job again"
    )


@dataclass
class _Log:
    """Buffered records of one log, each with the cursor after it. Complete from the cursor `floor` on."""

    floor: int
    requested: bool = False
    waiting: deque[tuple[int, Record]] = field(default_factory=deque)
    bytes: int = 0

    def add(self, behind: int, record: Record) -> None:
        self.waiting.append((behind, record))
        self.bytes += len(record.body)

    def has(self, cursor: int) -> bool:
        return bool(self.waiting) and self.waiting[-1][0] > cursor

    def take(self, cursor: int, limit_bytes: int) -> tuple[list[Record], int]:
        """Removes and returns records from a cursor on, and the cursor after them. Earlier records are dropped."""
        records: list[Record] = []
        size = 0
        while self.waiting:
            behind, record = self.waiting[0]
            if behind > cursor:
                if records and size + len(record.body) > limit_bytes:
                    break
                records.append(record)
                size += len(record.body)
                cursor = behind
            self.waiting.popleft()
            self.bytes -= len(record.body)
        self.floor = cursor
        return records, cursor


class Own:
    """The author of the messages that this connection appends, and the sequence number of the next one."""

    def __init__(self, author: bytes, next_seq: Callable[[], int]) -> None:
        self.author = author
        self.next_seq = next_seq


class Reader:
    def __init__(self, subscriptions: Subscriptions, stream: str, start: int, own: Own) -> None:
        self.stream = stream
        self.next = start
        """The offset of the next message to demultiplex."""
        self.end = start
        """The offset after the last message received."""
        self.own_seq = -1
        """The seq of the last message of our own session that was read."""
        self._subscriptions = subscriptions
        self._own = own
        self._opened_seq = 0
        """Our messages from this seq on were appended after the reader was opened."""
        self._at_end = False
        """Whether the next subscription starts at the end of the stream, to see whether the broker lost messages."""
        self._looking = False
        self._start = start
        self._logs: dict[str, _Log] = {}
        self._dropped: set[str] = set()
        self._assembly = Assembly(PATIENCE)
        self._expected = start
        self._gaps = 0
        """How many subscriptions in a row have skipped offsets."""
        self._looked_back_to: int | None = None
        self._subscription: Subscription | None = None

    @property
    def is_open(self) -> bool:
        return self._subscription is not None and not self._subscription.ended

    @property
    def used_at(self) -> float:
        return 0.0 if self._subscription is None else self._subscription.used_at

    def open(self, deadline: float) -> bool:
        """Subscribes if necessary. False if the stream does not exist (yet)."""
        if not self.is_open:
            self._looking, self._at_end = self._at_end, False
            if not self._looking:
                self._opened_seq = self._own.next_seq()
            start = AT_END if self._looking else self._expected
            self._subscription = self._subscriptions.start(self.stream, start, deadline)
        return self.is_open

    def close_if_idle(self) -> None:
        """Subscribes again if nothing has arrived for long. Call it only if nothing is left to read."""
        if self._subscription is not None:
            self._subscription.close_if_silent(IDLE_S)

    def close_if_silent(self) -> None:
        """The same, while a confirmed message is awaited: then the end of the stream is read first."""
        if self._subscription is not None and self._subscription.close_if_silent(SILENT_S):
            self._at_end = True

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def can_read(self, log: str, cursor: int) -> bool:
        """Whether no record of the log after the cursor was dropped from the buffers."""
        if log in self._dropped:
            return cursor >= at_offset(self.next)
        known = self._logs.get(log)
        return cursor >= (at_offset(self._start) if known is None else known.floor)

    def read(self, log: str, cursor: int, limit_bytes: int) -> tuple[list[Record], int]:
        """Returns received records of a log from a cursor on, and the cursor after them. Requires `can_read`."""
        known = self._logs.get(log)
        if known is None:
            known = self.adopt(log, cursor)
        known.requested = True
        try:
            while known.bytes <= limit_bytes and self._advance(log):
                pass
        except CorruptRecord:
            # Records before the damage are still returned.
            if not known.has(cursor):
                raise
        return known.take(cursor, limit_bytes)

    def adopt(self, log: str, cursor: int) -> _Log:
        """Takes over a log from a reader that found no record of it between the cursor and `next`."""
        self._dropped.discard(log)
        self._logs[log] = _Log(cursor)
        return self._logs[log]

    def _advance(self, log: str) -> bool:
        """Processes the next message. False if none has arrived."""
        found = None if self._subscription is None else self._subscription.take()
        if found is None:
            return False
        looking, self._looking = self._looking, False
        if looking and found.offset > self._expected:
            # Nothing is lost: the messages in between follow from their offset on.
            self.close()
            return False
        try:
            if found.offset >= self._expected:
                self._take(found, log)
            else:
                self._check_kept(found)
        except CorruptRecord:
            # A later read raises the same error again.
            self.close()
            raise
        return True

    def _check_kept(self, found: Delivery) -> None:
        """Messages before the next one may arrive from the end of a stream. But one that we have appended since is
        behind all that were ever read, unless the broker has lost confirmed messages."""
        where = f"stream {self.stream}, message {found.offset}"
        # Our messages up to `own_seq` may have been read since the reader was opened.
        unread = max(self._opened_seq, self.own_seq + 1)
        if is_newer(decode(found.body, where), self._own.author, unread):
            raise lost_messages(where, self._expected - 1)

    def _take(self, found: Delivery, log: str) -> None:
        where = f"stream {self.stream}, message {found.offset}"
        if found.offset > self._expected and not self._gap_is_permanent(found.offset, where):
            return
        self._gaps = 0
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

    def _gap_is_permanent(self, offset: int, where: str) -> bool:
        """Whether a message follows the last one read although offsets between them are missing. A node that has just
        started may deliver from a later message on, so the reader subscribes again before it believes a gap. Raises if
        the gap is larger than those that the broker makes itself."""
        if self._gaps < MOST_GAPS:
            self._gaps += 1
            self.close()
            return False
        if is_cut(self._expected, offset):
            raise CorruptRecord(
                f"{where} follows {self._expected - 1}: the messages in between are missing; check that no policy of "
                "the broker limits the age or the length of streams, and run the job again"
            )
        return True

    def _sort(self, offset: int, message: Message, finished: Record | None, log: str) -> None:
        if message.author == self._own.author:
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
        """Searches backwards for the first piece of the record that ends here: it lies before our start or was dropped.
        The distance doubles each time; other records found there are ignored."""
        if self._looked_back_to == 0:
            raise CorruptRecord(f"{where}: the beginning of the record that ends there is missing; run the job again")
        distance = _LOOK_BACK if self._looked_back_to is None else 2 * (offset - self._looked_back_to)
        self._expected = self._looked_back_to = max(offset - distance, 0)
        # A new one: with the old pieces, the record would be complete before this offset is reached again.
        self._assembly = Assembly(PATIENCE + distance)
        self.close()

    def _keep_bounds(self, log: str, known: _Log) -> None:
        """Drops the buffer of a log that is not being read. A later read uses a separate reader."""
        unrequested = sum(each.bytes for each in self._logs.values() if not each.requested)
        if known.bytes > BUFFERED_BYTES if known.requested else unrequested > UNREQUESTED_BYTES:
            del self._logs[log]
            self._dropped.add(log)
