"""A UDP socket that carries sealed letters and never waits. What cannot be sent is lost, as on any network."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from cauce.doctor.messages import Incarnation, Message
from cauce.doctor.seal import MOST_BYTES, Letter, Sealer
from cauce.errors import UsageError

MOST_AT_ONCE = 500
MOST_KNOWN = 10_000
LOOK_UP_S, LOOK_AGAIN_S = 30.0, 2.0
_BUFFER = 1 << 20

Target = tuple[str, int] | tuple[str, int, int, int]


def address_text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_of(text: str) -> tuple[str, int]:
    """`10.0.0.1:7700` or `[::1]:7700`."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not host or int(port) > 65535:
        raise UsageError(f"{text!r} is no address of a doctor; write it as HOST:PORT")
    return host.strip("[]"), int(port)


class Post:
    def __init__(self, sealer: Sealer, sender: str, incarnation: Incarnation, bound: socket.socket) -> None:
        self.socket = bound
        self._sealer = sealer
        self._sender = sender
        self._incarnation = incarnation
        self._known: dict[str, tuple[float, Target | None]] = {}
        bound.setblocking(False)
        with suppress(OSError):
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)

    def send(self, address: str, message: Message) -> None:
        data = self._sealer.seal(self._sender, self._incarnation, message)
        if not address or len(data) > MOST_BYTES:
            return
        target = self._target(address)
        if target is not None:
            with suppress(OSError):
                self.socket.sendto(data, target)

    def _target(self, address: str) -> Target | None:
        """Where an address is, looked up now and then: a name may come to stand for another place."""
        now = time.monotonic()
        due, target = self._known.get(address, (0.0, None))
        if now >= due:
            target = _look_up(self.socket.family, address)
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            self._known[address] = now + (LOOK_UP_S if target is not None else LOOK_AGAIN_S), target
        return target

    def receive(self) -> Iterator[tuple[Letter, str]]:
        """What has come in, as far as it can be opened, with the address it came from."""
        for _ in range(MOST_AT_ONCE):
            try:
                data, sender = self.socket.recvfrom(MOST_BYTES + 1)
            except BlockingIOError:
                return
            except OSError:
                # An earlier letter of ours found nobody: that is told here, and is no news.
                continue
            letter = self._sealer.open(data)
            if letter is not None:
                yield letter, address_text(sender[0], sender[1])

    def wait(self, seconds: float) -> bool:
        """Whether something comes in within this time."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def close(self) -> None:
        self.socket.close()


def _look_up(family: int, address: str) -> Target | None:
    host, port = address_of(address)
    try:
        return socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]  # type: ignore[return-value]
    except (OSError, UnicodeError):
        return None


def bind(address: str) -> socket.socket:
    """Raises an OSError if somebody listens there already."""
    host, port = address_of(address)
    family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)[0]
    made = socket.socket(family, kind)
    try:
        made.bind(target)
    except OSError:
        made.close()
        raise
    return made


def unbound(beside: Iterable[str]) -> socket.socket:
    """A socket for who only speaks to doctors, of the kind of their addresses. Where none of these can be found yet,
    they are taken to be of the older kind."""
    family = next(filter(None, map(_family, beside)), socket.AF_INET)
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", 0))
    return made


def _family(address: str) -> socket.AddressFamily | None:
    host, port = address_of(address)
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
    except (OSError, UnicodeError):
        return None
