"""Reads the logs of one stream: usually with one shared reader, and with a separate reader for a log that is read from
an earlier position.

A read returns nothing only after it has reached everything that this session has seen of the stream or appended to it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.contract import Batch, Position
from cauce.fabric.rabbitmq.streams.reader import (
    Own,
    Reader,
    at_offset,
    cursor_of,
    lost_messages,
    offset_of,
    position_at,
)
from cauce.fabric.rabbitmq.streams.subscription import Subscriptions

FIRST_S = 0.05
"""How long the first read of a stream waits for existing messages."""
_ABSENT_S = 0.05
"""Time until a stream that did not exist is checked again."""
_WAIT_S = 0.1
_MARKER_AFTER_S = 0.5
"""If our last append has not arrived by then, it lies before the start of the reader, or the broker has lost messages:
a new marker will arrive, behind all that were ever read."""


class ReaderGroup:
    def __init__(self, subscriptions: Subscriptions, stream: str, own: Own) -> None:
        self.stream = stream
        self._subscriptions = subscriptions
        self._own = own
        self._main: Reader | None = None
        self._separate: dict[str, Reader] = {}
        self._known_end = 0
        self._own_seq = -1
        self._required_seq: dict[str, int] = {}
        self._without_records: dict[str, tuple[int, int]] = {}
        """Two cursors of a log, between which it has no records: a later read from the first one starts at the second
        one, with the same reader as the other logs."""
        self._first_until = 0.0
        self._absent_until = 0.0

    def require_up_to(self, log: str, seq: int) -> None:
        """Our message with this seq was confirmed: reads of the log must reach it."""
        self._required_seq[log] = max(seq, self._required_seq.get(log, -1))

    @property
    def readers(self) -> list[Reader]:
        return [each for each in (self._main, *self._separate.values()) if each is not None and each.is_open]

    def read(
        self,
        log: str,
        position: Position,
        limit_bytes: int,
        deadline: float,
        alive: Callable[[], bool],
        append_marker: Callable[[], None],
    ) -> Batch:
        """`alive` is False once the log is deleted; `append_marker` appends a marker to the stream."""
        given = cursor_of(position)
        cursor = self._skip(log, given)
        reader = self._reader(log, cursor)
        marked_at = monotonic()
        behind: tuple[int, int] | None = None
        while True:
            seen = self._subscriptions.changes.count
            if self._open(log, reader, deadline):
                records, after = reader.read(log, cursor, limit_bytes)
                self._track(reader)
                if records:
                    return Batch(records, position_at(after))
                self._without_records[log] = given, max(cursor, at_offset(reader.next))
                if self._is_up_to_date(log, reader):
                    reader.close_if_idle()
                else:
                    reader.close_if_silent()
            if self._is_up_to_date(log, reader):
                self._merge(log, cursor, reader)
                return Batch([], position)
            if not alive():
                return Batch([], position)
            if monotonic() > deadline:
                raise FabricLost(f"RabbitMQ does not deliver stream {self.stream}: check the broker and retry")
            if behind is not None:
                self._check_kept(reader, *behind)
            if monotonic() - marked_at > _MARKER_AFTER_S:
                known_end = self._known_end
                append_marker()
                behind = self._required_seq.get(log, -1), known_end
                marked_at = monotonic()
            self._subscriptions.changes.wait(seen, _WAIT_S)

    def _check_kept(self, reader: Reader, seq: int, known_end: int) -> None:
        """Raises if the reader has read our message with this seq, which we appended when the stream had ended at
        `known_end` or behind it, and is still before that."""
        if reader.own_seq >= seq and reader.next <= known_end:
            raise lost_messages(f"stream {self.stream}, message {reader.next - 1}", known_end - 1)

    def close_if_idle(self, idle_since: float) -> None:
        """Closes the readers if none was used since then. Keeps the offsets seen and appended, which reads rely on."""
        if all(reader.used_at < idle_since for reader in self.readers):
            self.close()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        self._main = None
        self._separate.clear()

    def _skip(self, log: str, cursor: int) -> int:
        """The cursor after which the log may have records."""
        start, end = self._without_records.get(log, (cursor, cursor))
        return end if cursor == start else cursor

    def _reader(self, log: str, cursor: int) -> Reader:
        if self._main is None:
            self._main = Reader(self._subscriptions, self.stream, offset_of(cursor), self._own)
            self._first_until = monotonic() + FIRST_S
        if self._main.can_read(log, cursor):
            return self._main
        separate = self._separate.get(log)
        if separate is not None and separate.can_read(log, cursor):
            return separate
        if separate is not None:
            separate.close()
        self._separate[log] = Reader(self._subscriptions, self.stream, offset_of(cursor), self._own)
        return self._separate[log]

    def _open(self, log: str, reader: Reader, deadline: float) -> bool:
        """Opens the reader if necessary; returns whether it is open. Does not wait if it is already up to date."""
        if reader.is_open:
            return True
        if self._is_up_to_date(log, reader) and (not self._subscriptions.link.up or monotonic() < self._absent_until):
            return False
        if not reader.open(deadline):
            self._absent_until = monotonic() + _ABSENT_S
        return reader.is_open

    def _track(self, reader: Reader) -> None:
        self._known_end = max(self._known_end, reader.end)
        self._own_seq = max(self._own_seq, reader.own_seq)

    def _is_up_to_date(self, log: str, reader: Reader) -> bool:
        if reader.is_open and not reader.end and monotonic() < self._first_until:
            return False
        return reader.next >= self._known_end and self._own_seq >= self._required_seq.get(log, -1)

    def _merge(self, log: str, cursor: int, reader: Reader) -> None:
        """Closes a separate reader that has caught up with the shared one."""
        main = self._main
        if main is not None and reader is not main and reader.next >= main.next:
            main.adopt(log, cursor)
            self._separate.pop(log, None)
            reader.close()
