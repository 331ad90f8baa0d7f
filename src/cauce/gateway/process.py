"""A gateway as a process: its socket, its server, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import uvicorn
from setproctitle import setproctitle
from structlog.typing import FilteringBoundLogger

from cauce.errors import UsageError
from cauce.gateway.access import is_loopback
from cauce.gateway.app import Gateway
from cauce.gateway.logs import start_logs
from cauce.gateway.protocol import BoundedProtocol
from cauce.gateway.settings import GatewaySettings

GRACE_S = 3
"""How long requests in flight may go on after the signal to stop."""
CUT_OFF_S = 4.5
KEEP_ALIVE_S = 65
BACKLOG = 2048
OPEN_FILES = 65_536
DEAD_MS = 90_000
BEAT_S = 0.1


@dataclass(frozen=True)
class Place:
    """Where a gateway listens. `shared`: other gateways do so on the same port."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    shared: bool = False

    def check(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise UsageError("TLS needs both --tls-cert and --tls-key")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise UsageError(f"file {file} does not exist; --tls-cert and --tls-key expect files in PEM format")

    def bind(self) -> socket.socket:
        """A socket on the port, which is not listened on yet."""
        try:
            family, kind, _, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (OSError, UnicodeError) as problem:
            raise UsageError(
                f"cannot listen on --host {self.host}: {problem}; name an address of this machine, such as 127.0.0.1"
            ) from None
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A client that is gone, or takes nothing any more, is not kept for ever. Connections inherit it.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_MS)
        if self.shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            bound.bind(address)
        except OSError as problem:
            bound.close()
            raise UsageError(
                f"cannot listen on {self.host} port {self.port}: {problem.strerror}; end the program that uses the "
                "port, or choose another with --port (0: any free one)"
            ) from None
        return bound

    def url(self, bound: socket.socket) -> str:
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{bound.getsockname()[1]}"


def needs_token(bound: socket.socket) -> bool:
    """Whether others than this machine can reach the socket."""
    return not is_loopback(bound.getsockname()[0])


class _Server(uvicorn.Server):
    """Ends in good order at the first signal, with exit code 0, and tells the application before its connections."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None], ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop)
        yield

    def _asked_to_stop(self) -> None:
        if not self.should_exit:
            self.should_exit = True
            self._stop()


class Pulse(Protocol):
    """Signs of life, given by the event loop itself. One of them may end the process."""

    def due(self) -> bool: ...

    def beat(self, *, progress: int, work: str, busy: bool) -> None: ...


def run_gateway(
    settings: GatewaySettings,
    place: Place,
    bound: socket.socket,
    ready: Callable[[str], None],
    pulse: Pulse | None = None,
) -> int:
    """Serves until a signal to stop. `ready` is told the address when requests are taken."""
    setproctitle(f"cauce gateway {settings.folder}")
    _open_many_files()
    log = start_logs("gateway")
    # What uvicorn has to say is said here, in the same form as all else.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    gateway = Gateway(settings, log)
    url = place.url(bound)

    def started() -> None:
        log.info("gateway started", address=url, folder=str(settings.folder), token_needed=settings.needs_token)
        ready(url)
        if pulse is not None:
            beating.append(asyncio.create_task(_beat(gateway, pulse)))

    beating: list[asyncio.Task[None]] = []
    config = uvicorn.Config(
        gateway.app(),
        http=BoundedProtocol,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
    )

    def stop() -> None:
        gateway.stop()
        threading.Thread(target=_cut_off, args=(log,), daemon=True).start()

    _Server(config, stop, started).run([bound])
    log.info("gateway stopped")
    return 0


async def _beat(gateway: Gateway, pulse: Pulse) -> None:
    """That the loop comes here shows that it turns; that steps are done, that the threads work."""
    while True:
        if pulse.due():
            progress, waiting, work = gateway.at_work()
            pulse.beat(progress=progress, work=work, busy=waiting > 0)
        await asyncio.sleep(BEAT_S)


def _cut_off(log: FilteringBoundLogger) -> None:
    """What is not over in time is cut off: all that was confirmed is on the fabric."""
    time.sleep(CUT_OFF_S)
    log.error("gateway cut off", after_s=CUT_OFF_S)
    os._exit(0)


def _open_many_files() -> None:
    """Every thread keeps some hundreds of files open, and every connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
