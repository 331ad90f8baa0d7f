"""The gateway process: socket, HTTP server, heartbeats and graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl
import uvicorn
from setproctitle import setproctitle
from structlog.typing import FilteringBoundLogger

from cauce.api.names import is_loopback
from cauce.errors import CauceError, UsageError
from cauce.gateway.asgi.protocol import Receiver
from cauce.gateway.http.app import Gateway
from cauce.gateway.settings import GatewaySettings
from cauce.process.limits import keep_memory, raise_file_limit
from cauce.process.oom import GATEWAY, raise_oom_score
from cauce.process.telemetry.logs import close_logs, start_logs
from cauce.worker.events import Assignment

GRACE_S = 3
"""How long requests in flight may continue after the stop signal."""
SHUTDOWN_DEADLINE_S = 4.5
KEEP_ALIVE_S = 65
BACKLOG = 2048
TCP_USER_TIMEOUT_MS = 90_000
BEAT_S = 0.1
_PORT_IN_USE = "end the program that uses the port, or choose another with --port (0: any free one)"
_BIND_HINTS = {
    errno.EADDRNOTAVAIL: "name an address of this machine with --host",
    errno.EACCES: "choose a port above 1023 with --port",
}


@dataclass(frozen=True)
class Place:
    """The address on which a gateway listens. `shared`: other gateways listen on the same port."""

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
        """A bound socket that does not listen yet."""
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
        # Drop clients that are gone or have stopped reading. Connections inherit these options.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS)
        if self.shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            bound.bind(address)
        except OSError as problem:
            bound.close()
            hint = _BIND_HINTS.get(problem.errno or 0, _PORT_IN_USE)
            raise UsageError(f"cannot listen on {self.host} port {self.port}: {problem.strerror}; {hint}") from None
        return bound

    def url(self, bound: socket.socket) -> str:
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{bound.getsockname()[1]}"


def needs_token(bound: socket.socket) -> bool:
    """Whether other machines can reach the socket."""
    return not is_loopback(bound.getsockname()[0])


class _Server(uvicorn.Server):
    """Shuts down gracefully at the first signal, with exit code 0, and stops the application before its connections."""

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
            loop.add_signal_handler(number, self._on_stop_signal)
        yield

    def _on_stop_signal(self) -> None:
        if not self.should_exit:
            self.should_exit = True
            self._stop()


class HeartbeatSender(Protocol):
    """Heartbeats, sent by the event loop itself. `beat` may end the process."""

    def due(self) -> bool: ...

    def beat(self, *, progress: int, work: Assignment, busy: bool) -> None: ...


def run_gateway(
    settings: GatewaySettings,
    place: Place,
    bound: socket.socket,
    ready: Callable[[str], None],
    heartbeat_sender: HeartbeatSender | None = None,
) -> int:
    """Serves until a stop signal. Calls `ready` with the address when requests are accepted."""
    setproctitle(f"cauce gateway {settings.folder}")
    # Every thread keeps hundreds of files open, and every connection needs a descriptor.
    raise_file_limit()
    raise_oom_score(GATEWAY)
    keep_memory(settings.room_bytes // 2)
    start_polars_threads()
    log = start_logs("gateway")
    # Startup, stop and errors are logged by us, as structured lines.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    gateway = Gateway(settings, log)
    url = place.url(bound)

    def started() -> None:
        log.info("gateway started", address=url, folder=str(settings.folder), token_needed=settings.needs_token)
        ready(url)
        if heartbeat_sender is not None:
            beating.append(asyncio.create_task(_beat(gateway, heartbeat_sender)))

    beating: list[asyncio.Task[None]] = []
    config = uvicorn.Config(
        gateway.app(),
        # uvicorn declares a narrower type, and only calls it.
        http=Receiver,  # type: ignore[arg-type]
        ws="none",
        # uvloop where it is installed, else that of asyncio.
        loop="auto",
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
        threading.Thread(target=_exit_after_deadline, args=(log,), daemon=True).start()

    _Server(config, stop, started).run([bound])
    log.info("gateway stopped")
    close_logs()
    return 0


def start_polars_threads() -> None:
    """Starts all threads of Polars, which it otherwise starts on first use. If one cannot be started, Polars panics
    then and in every later call: a gateway must find that out before it accepts requests."""
    try:
        frame = pl.DataFrame({"key": [1]})
        grouped = frame.lazy().group_by("key").agg(pl.len())
        grouped.join(frame.lazy(), on="key").sort("key").collect()
        file = io.BytesIO()
        frame.write_parquet(file)
        file.seek(0)
        pl.read_parquet(file)
    except pl.exceptions.PanicException as problem:
        raise CauceError(
            f"cannot start the threads of Polars: {problem}; raise the limit of processes of this user (ulimit -u) or "
            "of this container (pids.max), or end other processes"
        ) from None


async def _beat(gateway: Gateway, heartbeat_sender: HeartbeatSender) -> None:
    """Sends heartbeats. They prove that the event loop runs; `progress` proves that the threads work."""
    while True:
        if heartbeat_sender.due():
            progress, waiting, work = gateway.at_work()
            heartbeat_sender.beat(progress=progress, work=Assignment(task=work), busy=waiting > 0)
        await asyncio.sleep(BEAT_S)


def _exit_after_deadline(log: FilteringBoundLogger) -> None:
    """Exits when the graceful shutdown exceeds its deadline. Safe: all that was confirmed is on the fabric."""
    time.sleep(SHUTDOWN_DEADLINE_S)
    log.error("graceful shutdown timed out", after_s=SHUTDOWN_DEADLINE_S)
    os._exit(0)
