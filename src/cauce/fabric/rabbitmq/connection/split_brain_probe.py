"""Checks that a server belongs to the same cluster as the other servers of the address.

Before version 4.3, a node that was paused for long may come back with its own queue metadata: queues declared there are
unknown elsewhere, and vice versa. No data is lost if no client uses such a node. So before a server is used, a
temporary queue declared on it must be visible on another server.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

import amqp

from cauce.fabric.address import Broker, Server
from cauce.fabric.rabbitmq.connection.amqp import CONNECT_S, ERRORS, TICK_S, BrokerChannel, Connection, StopRequested
from cauce.fabric.rabbitmq.settings.findings import numbers
from cauce.fabric.rabbitmq.settings.required import WITHOUT_SPLIT_METADATA

KNOWN_S = 0.5
"""Time for the metadata of a new queue to reach the other nodes."""
_LOOK_AGAIN_S = 0.05
_CLOSE_TIMEOUT_S = 1.0


class SplitBrain(OSError):
    """A queue declared on this server is not visible on any other."""


class SplitBrainProbe:
    """Remembers the servers that passed. Shared by the connections of a process."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._verified: set[Server] = set()

    def check(self, connection: Connection) -> None:
        """Raises SplitBrain if other servers answer and none of them sees a queue declared on this connection's server.
        A server passes if no other one can be reached."""
        server = connection.server
        others = [each for each in self._broker.servers if each != server]
        needless = numbers(connection.tuning.version) >= WITHOUT_SPLIT_METADATA
        if needless or not others or server in self._verified:
            return
        name = f"{self._broker.namespace}.trial.{secrets.token_hex(8)}"
        channel = connection.channel()
        try:
            channel.queue_declare(name, exclusive=True, auto_delete=True)
        except amqp.AccessRefused:
            # A missing permission is reported by the operation that needs it.
            return
        try:
            known = self._is_known(connection, name, others)
        finally:
            _remove(channel, name)
        if known is False:
            host, port = server
            raise SplitBrain(
                f"the node at {host}:{port} and the others do not see each other's queues: check rabbitmqctl "
                "cluster_status, and restart the node that was partitioned"
            )
        if known:
            self._verified.add(server)

    def invalidate(self, server: Server) -> None:
        """Checks a server again before its next use, since a connection to it broke."""
        self._verified.discard(server)

    def _is_known(self, connection: Connection, name: str, others: Sequence[Server]) -> bool | None:
        """Asks all other servers in parallel. True if one sees the queue; None if none answered."""
        answers: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        for server in others:
            threading.Thread(target=self._ask, args=(server, name, answers), daemon=True).start()
        heard: list[bool | None] = []
        deadline = monotonic() + CONNECT_S
        while len(heard) < len(others) and monotonic() < deadline:
            if connection.stop_requested:
                raise StopRequested
            with suppress(queue.Empty):
                heard.append(answers.get(timeout=TICK_S / 5))
                if heard[-1]:
                    return True
        return False if False in heard else None

    def _ask(self, server: Server, name: str, answers: queue.SimpleQueue[bool | None]) -> None:
        connection = Connection(self._broker, server, f"cauce {os.getpid()} asking")
        answer: bool | None = None
        try:
            connection.connect()
            answer = _knows(connection, name)
        except ERRORS:
            connection.collect()
        answers.put(answer)
        connection.answer_s = _CLOSE_TIMEOUT_S
        with suppress(*ERRORS):
            connection.close()


def _knows(connection: Connection, name: str) -> bool | None:
    deadline = monotonic() + KNOWN_S
    while True:
        try:
            connection.spare.queue_declare(name, passive=True)
        except amqp.ResourceLocked:
            # Exclusive to another connection, so it exists.
            return True
        except amqp.NotFound:
            if monotonic() > deadline:
                return False
            time.sleep(_LOOK_AGAIN_S)
        except amqp.AccessRefused:
            return None
        else:
            return True


def _remove(channel: BrokerChannel, name: str) -> None:
    """Errors are ignored: the queue is removed with the connection at the latest."""
    with suppress(amqp.ChannelError):
        channel.queue_delete(name)
        channel.close()
