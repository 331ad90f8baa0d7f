"""Whether a server is one with the others of its cluster.

A node that stood still for long may come back with a book of queues that is its own from then on: what is made there is
not known elsewhere, nor the other way round. Nothing is lost where nobody works with such a node. So what is made on a
server for a moment must be known to another one before that server is used.
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
from cauce.fabric.rabbitmq_amqp import CONNECT_S, ERRORS, TICK_S, BrokerChannel, Connection, Leaving

KNOWN_S = 0.5
"""Nodes may tell each other of a queue a moment after it was made."""
_LOOK_AGAIN_S = 0.05
_GOODBYE_S = 1.0


class Apart(OSError):
    """Nobody else knows what was made on this server."""


class Agreement:
    """Shared by the connections of a process."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._agree: set[Server] = set()

    def check(self, connection: Connection) -> None:
        """Raises Apart if others answer, and none of them knows what is made on this connection's server. A server
        whose others cannot be reached from here is taken as it is."""
        server = connection.server
        others = [each for each in self._broker.servers if each != server]
        if not others or server in self._agree:
            return
        name = f"{self._broker.namespace}.trial.{secrets.token_hex(8)}"
        channel = connection.channel()
        try:
            channel.queue_declare(name, exclusive=True, auto_delete=True)
        except amqp.AccessRefused:
            # Whoever may not make that will be told so where it matters.
            return
        try:
            known = self._is_known(connection, name, others)
        finally:
            _remove(channel, name)
        if known is False:
            host, port = server
            raise Apart(
                f"the node at {host}:{port} and the others do not know of each other's queues: look at rabbitmqctl "
                "cluster_status, and restart the one that was away"
            )
        if known:
            self._agree.add(server)

    def doubt(self, server: Server) -> None:
        """A connection to it broke: it may not be the same when it comes back."""
        self._agree.discard(server)

    def _is_known(self, connection: Connection, name: str, others: Sequence[Server]) -> bool | None:
        """All are asked at once, and the first that knows it will do. None if nobody has answered."""
        answers: queue.SimpleQueue[bool | None] = queue.SimpleQueue()
        for server in others:
            threading.Thread(target=self._ask, args=(server, name, answers), daemon=True).start()
        heard: list[bool | None] = []
        deadline = monotonic() + CONNECT_S
        while len(heard) < len(others) and monotonic() < deadline:
            if connection.leaving:
                raise Leaving
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
        connection.answer_s = _GOODBYE_S
        with suppress(*ERRORS):
            connection.close()


def _knows(connection: Connection, name: str) -> bool | None:
    deadline = monotonic() + KNOWN_S
    while True:
        try:
            connection.spare.queue_declare(name, passive=True)
        except amqp.ResourceLocked:
            # It is another connection's own.
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
    """If it does not work now, it goes with the connection."""
    with suppress(amqp.ChannelError):
        channel.queue_delete(name)
        channel.close()
