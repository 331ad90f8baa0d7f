"""A wrapper of the AMQP library: every call has a timeout, heartbeats continue while a call waits, and a channel that
the broker has closed stays closed.

Independent of the content of messages.
"""

from __future__ import annotations

import logging
import os
import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic

import amqp
from amqp import spec
from amqp.exceptions import error_for_code

from cauce.fabric.address import Broker, Server, Tls
from cauce.fabric.rabbitmq.connection.transport import PlainTransport, TlsTransport
from cauce.fabric.rabbitmq.settings.facts import Tuning

HEARTBEAT_S = 5
CONNECT_S = 5.0
ANSWER_S = 10.0
"""Timeout of a request to the broker; declaring a stream on three nodes takes longest."""
EACH_S = 0.5
"""Added to it for each of several requests at once."""
STALL_S = 5.0
"""Timeout within a partly received or sent frame."""
TICK_S = 0.5
FRAME_BYTES = (2 << 20) + (64 << 10)
"""Large enough for each of our messages to fit in one frame, if the broker allows it. The library allocates a buffer of
this size per connection."""
_UNSENT_MS = 15_000

ERRORS = (amqp.AMQPError, OSError)
"""Errors of the library after which a connection or a channel cannot be used."""

logging.getLogger("amqp").setLevel(logging.CRITICAL)


class StopRequested(OSError):
    """Raised in a waiting call when the owner of the connection wants to close it."""


@dataclass(frozen=True)
class Request:
    """A method that is sent on a channel, and the one that answers it."""

    channel: BrokerChannel
    method: tuple[int, int]
    signature: str
    arguments: tuple[object, ...]
    answer: tuple[int, int]


class BrokerChannel(amqp.Channel):  # type: ignore[misc]
    """A channel that stays closed once the broker closed it; the library would reopen it without its consumers. The
    error is raised only in a call that waits on this channel, never in one that waits on another."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.on_closed: Callable[[amqp.AMQPError], None] = lambda problem: None
        self._waiting = False

    def wait(self, *args: object, **kwargs: object) -> object:
        connection: Connection | None = self.connection
        if connection is None:
            raise amqp.RecoverableConnectionError("the channel is closed")
        self._waiting = True
        before, connection.answer_by = connection.answer_by, monotonic() + connection.answer_s
        try:
            return super().wait(*args, **kwargs)
        finally:
            self._waiting = False
            connection.answer_by = before

    def on_method(self, method: tuple[int, int], callback: Callable[[], None]) -> None:
        """Calls it whenever the broker sends this method."""
        self._callbacks[method] = lambda *args: callback()

    def _on_close(self, reply_code: int, reply_text: str, class_id: int, method_id: int) -> None:
        self.send_method(spec.Channel.CloseOk)
        if self.is_closing:
            return
        waiting = self._waiting
        self.collect()
        problem = error_for_code(reply_code, reply_text, (class_id, method_id), amqp.ChannelError)
        self.on_closed(problem)
        if waiting:
            raise problem


class Connection(amqp.Connection):  # type: ignore[misc]
    """A connection to one server of the cluster; not thread-safe."""

    Channel = BrokerChannel
    # The library drops the broker's reason for blocking.
    _METHODS = {**amqp.Connection._METHODS, spec.Connection.Blocked: spec.method(spec.Connection.Blocked, "s")}  # noqa: RUF012

    def __init__(self, broker: Broker, server: Server, name: str) -> None:
        self.server = server
        host, port = server
        super().__init__(
            host=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            userid=broker.user,
            password=broker.password,
            login_method="PLAIN",
            virtual_host=broker.vhost,
            ssl=_tls_options(broker.tls, host) if broker.tls else False,
            connect_timeout=CONNECT_S,
            heartbeat=HEARTBEAT_S,
            client_properties={"connection_name": name, "product": "cauce"},
            socket_settings={getattr(socket, "TCP_USER_TIMEOUT", 18): _UNSENT_MS},
        )
        self.blocked: str | None = None
        """Why the broker blocks publishing now."""
        self.stop_requested = False
        self.answer_s = ANSWER_S
        self.answer_by: float | None = None
        """Deadline of the pending request, regardless of other frames that arrive."""
        self._spare: BrokerChannel | None = None
        self._offered_frame = 0

    def connect(self, callback: Callable[[], None] | None = None) -> None:
        super().connect(callback)
        self.sock.settimeout(STALL_S)

    @property
    def spare(self) -> BrokerChannel:
        """A channel for requests whose failure closes it, such as a passive declaration."""
        if self._spare is None or not self._spare.is_open:
            self._spare = self.channel()
        return self._spare

    def Transport(self, host: str, connect_timeout: float, ssl: object, *args: object, **kwargs: object) -> object:  # noqa: N802
        made = TlsTransport if ssl else PlainTransport
        read_timeout, write_timeout = args
        return made(
            host,
            connect_timeout=connect_timeout,
            ssl=ssl,
            read_timeout=read_timeout,
            write_timeout=write_timeout,
            **kwargs,
        )

    def readable(self, timeout_s: float, *others: int) -> bool:
        """Waits until data has arrived, or another descriptor is readable. True if data has arrived."""
        pending = getattr(self.sock, "pending", None)
        if self.transport.pending or (pending is not None and pending()):
            return True
        own = self.sock.fileno()
        poll = select.poll()
        for each in (own, *others):
            poll.register(each, select.POLLIN)
        return any(each == own for each, _ in poll.poll(timeout_s * 1000))

    def read_frame(self) -> None:
        self.blocking_read(STALL_S)

    def drain_events(self, timeout: float | None = None) -> None:
        """Reads one frame. Raises TimeoutError if none arrives in time."""
        if timeout == 0:
            if not self.readable(0):
                raise TimeoutError
            return self.read_frame()
        deadline = self.answer_by or monotonic() + (timeout or self.answer_s)
        while not self.readable(min(TICK_S, max(deadline - monotonic(), 0))):
            if self.stop_requested:
                raise StopRequested
            if monotonic() >= deadline:
                raise TimeoutError("the broker has not answered")
            self.heartbeat_tick()
        return self.read_frame()

    def request_all(self, requests: Sequence[Request]) -> list[amqp.AMQPError]:
        """Sends requests on different channels and waits for all answers. Returns the errors with which the broker has
        closed some of the channels."""
        unanswered = set(range(len(requests)))
        problems: list[amqp.AMQPError] = []

        def refused(number: int, problem: amqp.AMQPError) -> None:
            unanswered.discard(number)
            problems.append(problem)

        for number, each in enumerate(requests):
            each.channel.on_closed = partial(refused, number)
            each.channel.on_method(each.answer, partial(unanswered.discard, number))
            each.channel.send_method(each.method, each.signature, each.arguments)
        before, self.answer_by = self.answer_by, monotonic() + self.answer_s + EACH_S * len(requests)
        try:
            while unanswered:
                self.drain_events()
        finally:
            self.answer_by = before
        return problems

    def shut_down(self) -> None:
        """Makes every pending socket call of the owner's thread fail. May be called by another thread."""
        transport = self._transport
        sock = None if transport is None else transport.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """In a forked child: closes the descriptor of the parent's socket and sends nothing to the broker."""
        if self._transport is not None and self._transport.sock is not None:
            os.close(self._transport.sock.detach())

    @property
    def tuning(self) -> Tuning:
        """The parameters that the server offered on connect."""
        offered = self.server_properties
        return Tuning(
            str(offered.get("product", "unknown")),
            str(offered.get("version", "0")),
            self._offered_frame,
            self.server_heartbeat,
        )

    def _on_tune(self, channel_max: int, frame_max: int, server_heartbeat: int, argsig: str = "BlB") -> None:
        self._offered_frame = frame_max
        super()._on_tune(channel_max, min(frame_max or FRAME_BYTES, FRAME_BYTES), server_heartbeat, argsig)

    def _on_blocked(self, reason: str = "") -> None:
        self.blocked = reason or "no reason given"

    def _on_unblocked(self) -> None:
        self.blocked = None


def _tls_options(tls: Tls, host: str) -> dict[str, object]:
    named = {"ca_certs": tls.cafile, "certfile": tls.certfile, "keyfile": tls.keyfile}
    return {"server_hostname": host, **{name: path for name, path in named.items() if path is not None}}
