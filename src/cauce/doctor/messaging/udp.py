"""A non-blocking UDP socket for authenticated messages. A message that cannot be sent is dropped.

Duplicates are dropped here. The first message to a receiver, whose session is not known yet, is answered by a `Hello`
and resent once.
"""

from __future__ import annotations

import ipaddress
import select
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from cauce.doctor.messaging.envelope import MAX_BYTES, Authenticator, Envelope
from cauce.doctor.messaging.freshness import Freshness, Receiver, Stamp
from cauce.doctor.model.messages import Generation, Hello, Message
from cauce.errors import UsageError

MAX_BATCH = 500
MAX_PEERS = 10_000
RESEND_WINDOW = 64
"""How many sent messages are kept for a resend."""
RESOLVE_S, RESOLVE_RETRY_S = 30.0, 2.0
_BUFFER = 1 << 20

Target = tuple[str, int] | tuple[str, int, int, int]


def address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_of(text: str) -> tuple[str, int]:
    """`10.0.0.1:7700` or `[::1]:7700`."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not host or int(port) > 65535:
        raise UsageError(f"invalid address of a doctor {text!r}; expected HOST:PORT")
    return host.strip("[]"), int(port)


class UdpEndpoint:
    """Sends and receives authenticated messages of one process."""

    def __init__(self, authenticator: Authenticator, sender: str, generation: Generation, bound: socket.socket) -> None:
        self.socket = bound
        self._authenticator = authenticator
        self._sender = sender
        self._generation = generation
        self._known: dict[str, tuple[float, Target | None]] = {}
        self._receiver = Receiver()
        self._number = 0
        self._sessions: dict[tuple[str, int], int] = {}
        """Sessions of peers, by address."""
        self._sent: dict[int, tuple[Target, Message]] = {}
        bound.setblocking(False)
        with suppress(OSError):
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)

    def send(self, address: str, message: Message) -> None:
        target = self._target(address) if address else None
        if target is None:
            return
        number = self._send(target, message)
        self._sent[number] = target, message
        self._sent.pop(number - RESEND_WINDOW, None)

    def _send(self, target: Target, message: Message, receiver: int | None = None) -> int:
        """Returns the sequence number of the message."""
        self._number += 1
        known = self._sessions.get(target[:2], 0) if receiver is None else receiver
        stamp = Stamp(self._receiver.session, known, self._number)
        data = self._authenticator.encode(self._sender, self._generation, stamp, message)
        if len(data) <= MAX_BYTES:
            with suppress(OSError):
                self.socket.sendto(data, target)
        return self._number

    def _target(self, address: str) -> Target | None:
        """Resolves an address. Cached for a limited time: a host name may move to another IP address."""
        now = time.monotonic()
        due, target = self._known.get(address, (0.0, None))
        if now >= due:
            target = _resolve(self.socket.family, address)
            if len(self._known) > MAX_PEERS:
                self._known.clear()
            self._known[address] = now + (RESOLVE_S if target is not None else RESOLVE_RETRY_S), target
        return target

    def receive(self) -> Iterator[tuple[Envelope, str]]:
        """Received messages that are valid and new, with the address of the sender."""
        for _ in range(MAX_BATCH):
            try:
                data, sender = self.socket.recvfrom(MAX_BYTES + 1)
            except BlockingIOError:
                return
            except OSError:
                # The kernel reports here that an earlier message of ours had no receiver: ignored.
                continue
            envelope = self._authenticator.decode(data)
            if envelope is not None and self._is_new(envelope, sender):
                yield envelope, address_text(sender[0], sender[1])

    def _is_new(self, envelope: Envelope, sender: Target) -> bool:
        fresh = self._receiver.admit(envelope.stamp)
        hello = envelope.body if isinstance(envelope.body, Hello) else None
        if fresh is Freshness.OTHER_SESSION and hello is None:
            # The sender learns our session. An attacker that replays datagrams gains nothing by it.
            self._send(sender, Hello(envelope.stamp.number), envelope.stamp.session)
        if fresh is not Freshness.NEW:
            return False
        self._learn(sender, envelope.stamp.session)
        if hello is not None:
            self._resend(hello.number, envelope.stamp.session)
        return hello is None

    def _learn(self, target: Target, session: int) -> None:
        if len(self._sessions) > MAX_PEERS:
            self._sessions.clear()
        self._sessions[target[:2]] = session

    def _resend(self, number: int, session: int) -> None:
        """Resends a message once. If it is rejected again, it is lost."""
        target, message = self._sent.pop(number, (None, None))
        if target is not None and message is not None:
            # The reply may come from another address of the receiver.
            self._learn(target, session)
            self._send(target, message)

    def _has_unknown_sessions(self) -> bool:
        """Whether a message was sent to a receiver whose session is unknown."""
        return any(target[:2] not in self._sessions for target, _ in self._sent.values())

    def introduce(self, within_s: float) -> list[tuple[Envelope, str]]:
        """Exchanges sessions with all receivers of sent messages, up to a timeout, so that the first messages arrive
        without waiting for the next poll. Returns messages received meanwhile."""
        found: list[tuple[Envelope, str]] = []
        deadline = time.monotonic() + within_s
        while self._has_unknown_sessions() and (left_s := deadline - time.monotonic()) > 0 and self.wait(left_s):
            found += self.receive()
        return found

    def wait(self, seconds: float) -> bool:
        """Waits for a datagram; False on timeout."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def close(self) -> None:
        self.socket.close()


def _resolve(family: int, address: str) -> Target | None:
    host, port = address_of(address)
    try:
        return socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]  # type: ignore[return-value]
    except (OSError, UnicodeError):
        return None


def bind(address: str) -> socket.socket:
    """Raises an OSError if the address is in use."""
    host, port = address_of(address)
    family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)[0]
    made = socket.socket(family, kind)
    try:
        made.bind(target)
    except OSError:
        made.close()
        raise
    return made


def client_socket(beside: Iterable[str]) -> socket.socket:
    """A client socket for the doctors at these addresses, of their address family (IPv4 if none resolves yet). It binds
    to loopback unless a doctor may be on another machine."""
    addresses = list(beside)
    family = next(filter(None, map(_family, addresses)), socket.AF_INET)
    made = socket.socket(family, socket.SOCK_DGRAM)
    any_address, loopback = ("::", "::1") if family == socket.AF_INET6 else ("0.0.0.0", "127.0.0.1")
    made.bind((loopback if addresses and all(map(_is_loopback, addresses)) else any_address, 0))
    return made


def _is_loopback(address: str) -> bool:
    """Whether all IP addresses of the host are loopback addresses."""
    host, port = address_of(address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(str(target[0]).partition("%")[0]).is_loopback for *_, target in found)


def _family(address: str) -> socket.AddressFamily | None:
    host, port = address_of(address)
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
    except (OSError, UnicodeError):
        return None
