"""Publishes messages and waits for the confirms. Does not retry: the caller publishes everything again.

A message counts as written only if the broker confirmed it and did not return it: unroutable messages are confirmed as
well.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from time import monotonic

import amqp

from cauce.errors import FabricError, FabricFull, FabricLost
from cauce.fabric.rabbitmq.connection.amqp import BrokerChannel, Connection
from cauce.fabric.rabbitmq.connection.connection_thread import ConnectionThread
from cauce.fabric.rabbitmq.connection.permissions import refused
from cauce.fabric.rabbitmq.streams.messages import AUTHOR_BYTES, encode, encode_note
from cauce.fabric.records import Record

CONFIRM_S, LONGEST_CONFIRM_S = 3.0, 12.0
"""Initial and maximum timeout without any confirm; it doubles after each timeout. Messages in flight to a stream whose
leader crashed are not always confirmed by the new leader, and a slow broker must not be reset forever."""
_LOOK_S = 0.1

Outgoing = tuple[str, bytes]
"""A queue and the message to publish to it."""


class _Batch:
    """Messages in flight. The connection thread records the confirms, the writer's thread waits for them."""

    def __init__(self, outgoing: Sequence[Outgoing]) -> None:
        self.outgoing = outgoing
        self.over = threading.Event()
        self.answers = 0
        self.returned: set[int] = set()
        self.refused: set[int] = set()
        self.broken: amqp.AMQPError | None = None
        self._open = set(range(len(outgoing)))
        self._first_tag = 1

    def send(self, channel: BrokerChannel, first_tag: int) -> None:
        self._first_tag = first_tag
        for tag, (queue, body) in enumerate(self.outgoing, start=first_tag):
            message = amqp.Message(body, delivery_mode=2, message_id=str(tag))
            channel.basic_publish(message, routing_key=queue, mandatory=True)

    def settle(self, tag: int, multiple: bool, *, refused: bool) -> None:
        last = tag - self._first_tag
        settled = {each for each in self._open if each <= last} if multiple else {last} & self._open
        self._open -= settled
        self.answers += 1
        if refused:
            self.refused |= settled
        if not self._open:
            self.over.set()

    def send_back(self, tag: int) -> None:
        self.returned |= {tag - self._first_tag} & self._open

    @property
    def is_answered(self) -> bool:
        return not self._open


class Writer:
    def __init__(self, link: ConnectionThread) -> None:
        self.author = secrets.token_bytes(AUTHOR_BYTES)
        self._link = link
        self.next_seq = 0
        """The next unused seq."""
        self._channel: BrokerChannel | None = None
        self._next_tag = 1
        self._batch: _Batch | None = None
        self._silence_s = CONFIRM_S
        link.on_broken.append(self._channel_failed)

    def note(self, content: bytes = b"") -> bytes:
        """Encodes a message without records, with the next seq."""
        self.next_seq += 1
        return encode_note(self.author, self.next_seq - 1, content)

    def messages(self, log: str, records: Sequence[Record]) -> list[bytes]:
        """Encodes records as messages, with the next seqs."""
        bodies = encode(self.author, self.next_seq, log, records)
        self.next_seq += len(bodies)
        return bodies

    def publish(self, outgoing: Sequence[Outgoing], deadline: float) -> set[int]:
        """Returns the indexes of unroutable messages, whose queue does not exist. All others are confirmed.

        Raises FabricLost if some are unconfirmed, FabricFull if the broker blocks publishing."""
        if not outgoing:
            return set()
        batch = _Batch(outgoing)
        self._await_room(deadline)
        self._link.call(lambda connection: self._send(connection, batch), deadline)
        self._await(batch, deadline)
        if batch.refused or not batch.is_answered:
            raise _unconfirmed(batch)
        return batch.returned

    def lost(self) -> FabricError:
        """The error to raise after the last retry."""
        if self._link.last_block is not None:
            return _full(self._link.last_block)
        return FabricLost(
            "RabbitMQ has not confirmed the messages; they may have been written or not. Check that a majority of its "
            "nodes is up, and then its stream coordinator with: cauce broker check --node"
        )

    def _await_room(self, deadline: float) -> None:
        while (reason := self._link.blocked) is not None:
            if monotonic() > deadline:
                raise _full(reason)
            time.sleep(_LOOK_S)

    def _await(self, batch: _Batch, deadline: float) -> None:
        """Waits until all messages are confirmed, the connection breaks, or no confirm arrives in time."""
        answers, heard_at = 0, monotonic()
        while not batch.over.wait(_LOOK_S):
            now = monotonic()
            if self._link.blocked is not None:
                self._await_room(deadline)
                heard_at = monotonic()
            elif batch.answers != answers:
                answers, heard_at = batch.answers, now
            elif now > min(deadline, heard_at + self._silence_s):
                self._silence_s = min(self._silence_s * 2, LONGEST_CONFIRM_S)
                self._link.reset()
                return
        self._silence_s = CONFIRM_S

    # Run by the connection thread.

    def _send(self, connection: Connection, batch: _Batch) -> None:
        channel = self._channel or self._open(connection)
        first, self._next_tag = self._next_tag, self._next_tag + len(batch.outgoing)
        self._batch = batch
        batch.send(channel, first)

    def _open(self, connection: Connection) -> BrokerChannel:
        channel: BrokerChannel = connection.channel()
        channel.confirm_select()
        channel.events["basic_ack"].add(lambda tag, multiple: self._settle(tag, multiple, refused=False))
        channel.events["basic_nack"].add(lambda tag, multiple: self._settle(tag, multiple, refused=True))
        channel.events["basic_return"].add(self._returned)
        channel.on_closed = self._channel_failed
        self._channel, self._next_tag = channel, 1
        return channel

    def _settle(self, tag: int, multiple: bool, *, refused: bool) -> None:
        if self._batch is not None:
            self._batch.settle(tag, multiple, refused=refused)

    def _returned(self, problem: object, exchange: str, queue: str, message: amqp.Message) -> None:
        """The broker returns a message before it confirms it."""
        if self._batch is not None:
            self._batch.send_back(int(message.message_id))

    def _channel_failed(self, problem: amqp.AMQPError | None = None) -> None:
        self._channel = None
        if self._batch is not None:
            self._batch.broken = problem
            self._batch.over.set()


def _full(reason: str) -> FabricFull:
    return FabricFull(
        f"RabbitMQ accepts no messages now ({reason}): give it more disk space or memory, or delete jobs no longer "
        "needed; confirmed data is safe"
    )


def _unconfirmed(batch: _Batch) -> FabricError:
    if isinstance(batch.broken, amqp.PreconditionFailed):
        return FabricError(
            f"RabbitMQ refused a message ({batch.broken.reply_text}): raise max_message_size in its configuration to "
            "4 MiB or more"
        )
    if isinstance(batch.broken, amqp.AccessRefused):
        return refused(batch.broken)
    return FabricLost(f"RabbitMQ has not confirmed {len(batch.outgoing)} messages")
