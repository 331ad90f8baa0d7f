"""Publishes and waits for the confirms. One attempt at a time: whoever wants another one says it all again.

A message counts as written only when the broker has confirmed it and has not sent it back: it confirms what it could
not route as well.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from time import monotonic

import amqp

from cauce.errors import FabricError, FabricFull, FabricLost
from cauce.fabric.rabbitmq_amqp import BrokerChannel, Connection
from cauce.fabric.rabbitmq_link import Link
from cauce.fabric.rabbitmq_messages import AUTHOR_BYTES, encode, encode_note
from cauce.fabric.rabbitmq_rights import refused
from cauce.wire.records import Record

CONFIRM_S, LONGEST_CONFIRM_S = 3.0, 12.0
"""How long the broker may say nothing at all to what it was sent: at first, and at most, where it was silent before.
What was under way to a stream whose leader died is not always confirmed by the next one; a slow broker is not dead."""
_LOOK_S = 0.1

Letter = tuple[str, bytes]
"""A queue, and a message for it."""


class _Post:
    """Messages under way. Filled by the link's thread, waited for by the writer's."""

    def __init__(self, letters: Sequence[Letter]) -> None:
        self.letters = letters
        self.over = threading.Event()
        self.answers = 0
        self.returned: set[int] = set()
        self.refused: set[int] = set()
        self.broken: amqp.AMQPError | None = None
        self._open = set(range(len(letters)))
        self._first_tag = 1

    def send(self, channel: BrokerChannel, first_tag: int) -> None:
        self._first_tag = first_tag
        for tag, (queue, body) in enumerate(self.letters, start=first_tag):
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
    def __init__(self, link: Link) -> None:
        self.author = secrets.token_bytes(AUTHOR_BYTES)
        self._link = link
        self.next_seq = 0
        """One that no message of ours has had."""
        self._channel: BrokerChannel | None = None
        self._next_tag = 1
        self._post: _Post | None = None
        self._silence_s = CONFIRM_S
        link.on_broken.append(self._broke)

    def note(self, content: bytes = b"") -> bytes:
        """A message that is no record. It has the next seq."""
        self.next_seq += 1
        return encode_note(self.author, self.next_seq - 1, content)

    def messages(self, log: str, records: Sequence[Record]) -> list[bytes]:
        """The messages of some records, with the next seqs."""
        bodies = encode(self.author, self.next_seq, log, records)
        self.next_seq += len(bodies)
        return bodies

    def publish(self, letters: Sequence[Letter], deadline: float) -> set[int]:
        """The indexes of those that went nowhere, for there was no such queue. The others are written.

        Raises FabricLost if that is not known of some, FabricFull if the broker takes nothing for now."""
        if not letters:
            return set()
        post = _Post(letters)
        self._await_room(deadline)
        self._link.call(lambda connection: self._send(connection, post), deadline)
        self._await(post, deadline)
        if post.refused or not post.is_answered:
            raise _unconfirmed(post)
        return post.returned

    def lost(self) -> FabricError:
        """The error for who has tried for long enough."""
        if self._link.last_block is not None:
            return _full(self._link.last_block)
        return FabricLost("RabbitMQ has not confirmed what was to be written; it may be there or not")

    def _await_room(self, deadline: float) -> None:
        while (reason := self._link.blocked) is not None:
            if monotonic() > deadline:
                raise _full(reason)
            time.sleep(_LOOK_S)

    def _await(self, post: _Post, deadline: float) -> None:
        """Until all is answered, the connection breaks, or nothing has been heard for too long."""
        answers, heard_at = 0, monotonic()
        while not post.over.wait(_LOOK_S):
            now = monotonic()
            if self._link.blocked is not None:
                self._await_room(deadline)
                heard_at = monotonic()
            elif post.answers != answers:
                answers, heard_at = post.answers, now
            elif now > min(deadline, heard_at + self._silence_s):
                self._silence_s = min(self._silence_s * 2, LONGEST_CONFIRM_S)
                self._link.reset()
                return
        self._silence_s = CONFIRM_S

    # By the link's thread.

    def _send(self, connection: Connection, post: _Post) -> None:
        channel = self._channel or self._open(connection)
        first, self._next_tag = self._next_tag, self._next_tag + len(post.letters)
        self._post = post
        post.send(channel, first)

    def _open(self, connection: Connection) -> BrokerChannel:
        channel: BrokerChannel = connection.channel()
        channel.confirm_select()
        channel.events["basic_ack"].add(lambda tag, multiple: self._settle(tag, multiple, refused=False))
        channel.events["basic_nack"].add(lambda tag, multiple: self._settle(tag, multiple, refused=True))
        channel.events["basic_return"].add(self._returned)
        channel.on_closed = self._broke
        self._channel, self._next_tag = channel, 1
        return channel

    def _settle(self, tag: int, multiple: bool, *, refused: bool) -> None:
        if self._post is not None:
            self._post.settle(tag, multiple, refused=refused)

    def _returned(self, problem: object, exchange: str, queue: str, message: amqp.Message) -> None:
        """Comes before the confirm."""
        if self._post is not None:
            self._post.send_back(int(message.message_id))

    def _broke(self, problem: amqp.AMQPError | None = None) -> None:
        self._channel = None
        if self._post is not None:
            self._post.broken = problem
            self._post.over.set()


def _full(reason: str) -> FabricFull:
    return FabricFull(
        f"RabbitMQ takes no messages for now ({reason}): give it room on its disk or in its memory, or delete jobs no "
        "longer needed; what was confirmed is safe"
    )


def _unconfirmed(post: _Post) -> FabricError:
    if isinstance(post.broken, amqp.PreconditionFailed):
        return FabricError(
            f"RabbitMQ refuses a message ({post.broken.reply_text}): raise max_message_size in its configuration to "
            "4 MiB or more"
        )
    if isinstance(post.broken, amqp.AccessRefused):
        return refused(post.broken)
    return FabricLost(f"RabbitMQ has not confirmed what it was sent ({len(post.letters)} messages)")
