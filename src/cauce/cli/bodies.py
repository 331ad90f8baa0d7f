"""What the processes of a service do from their first step to their last: worker, gateway and doctor, as doctors start
them, from what is written down in the folder of the service."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.cli.options import SERVICE_ATTEMPTS
from cauce.doctor.boxed import BOXED, Boxes, live_in_box
from cauce.doctor.home import Cluster, Entry, Home
from cauce.doctor.names import Role
from cauce.errors import UsageError
from cauce.fabric.contract import Durability
from cauce.worker.events import EXIT_OLD

if TYPE_CHECKING:
    from cauce.doctor.children import Body
    from cauce.gateway.process import Place
    from cauce.gateway.settings import GatewaySettings

METRICS = "metrics"


class Launching(msgspec.Struct, frozen=True):
    """How gateways and workers are set up on this host: the options that the service was started with."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 where no gateway is to listen."""
    require_token: bool = False
    remote: bool = False
    """Whether clients need a token: the gateways can be reached from other machines, or tokens are required."""
    tls_cert: str = ""
    tls_key: str = ""
    tokens: str = ""
    datasets: list[str] = []
    allow_files: list[str] = []
    limits: list[str] = []
    power_safe: bool = False
    fabric: str = ""
    lanes: int = 1
    attempts: int = SERVICE_ATTEMPTS
    life: str = ""
    boxes: Boxes | None = None
    """Workers and gateways live in containers, if so."""

    @property
    def durability(self) -> Durability:
        return "power" if self.power_safe else "process"

    def address(self, folder: Path) -> str:
        """Of the fabric: in the folder, unless it is said to be elsewhere."""
        return self.fabric or f"files:{folder.resolve()}"

    def place(self) -> Place:
        from cauce.gateway.process import Place

        return Place(self.host, self.port, _path(self.tls_cert), _path(self.tls_key))

    def settings(self, folder: Path) -> GatewaySettings:
        from cauce.cli.settings import gateway_settings

        return gateway_settings(self, folder)


def launching(cluster: Cluster) -> Launching:
    return msgspec.json.decode(cluster.started, type=Launching)


def one_thread_each() -> None:
    """The processes are the parallelism. Read when the libraries load."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["POLARS_MAX_THREADS"] = "1"


def prepare(folder: Path) -> None:
    """What must be said before the libraries are loaded: gateways that share a port count in one place."""
    one_thread_each()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder / METRICS)


def load_all() -> None:
    """Loads what any process of the service needs, so that its forks begin at once."""
    from cauce.worker.nursery import make_ready

    make_ready()


def bodies() -> dict[Role, Body]:
    return {"worker": worker_body, "gateway": gateway_body, "doctor": doctor_body}


def in_box(home: Home, entry: Entry) -> int | None:
    """The whole life of a process that lives in a container; None for who does not, or is in it already."""
    boxes = launching(home.cluster()).boxes
    return live_in_box(home, entry, boxes) if boxes is not None and BOXED not in os.environ else None


def worker_body(home: Home, entry: Entry) -> int:
    boxed = in_box(home, entry)
    if boxed is not None:
        return boxed
    from cauce.cli.notices import tell_in_log
    from cauce.doctor.pulse import Pulse
    from cauce.fabric.address import open_fabric
    from cauce.worker.nursery import keep_memory
    from cauce.worker.process import work
    from cauce.worker.tasks import Limits

    keep_memory()
    tell_in_log("worker")
    cluster = home.cluster()
    given = launching(cluster)
    limits = Limits(lethal_attempts=given.attempts, life=given.life or None)
    fabric = open_fabric(cluster.fabric, cluster.durability)
    return work(fabric, entry.name.removeprefix("worker-"), limits, Pulse(home, entry))


def gateway_body(home: Home, entry: Entry) -> int:
    boxed = in_box(home, entry)
    if boxed is not None:
        return boxed
    from cauce.cli.notices import tell_in_log
    from cauce.doctor.pulse import Pulse
    from cauce.gateway.process import run_gateway

    tell_in_log("gateway")
    given = launching(home.cluster())
    if not given.port:
        raise UsageError(f"{entry.name} has no port; start the doctor of its host with --port")
    place = replace(given.place(), shared=True)
    return run_gateway(given.settings(home.folder), place, place.bind(), lambda _: None, Pulse(home, entry))


def doctor_body(
    home: Home, entry: Entry, seat: socket.socket | None = None, listen: str = "", *, roused: bool = False
) -> int:
    """`roused` by somebody who heard no doctor; else a leader wants it."""
    from cauce.cli.notices import tell_in_log
    from cauce.doctor.process import Doctor
    from cauce.doctor.seat import take_seat
    from cauce.gateway.logs import start_logs
    from cauce.gateway.metrics import forget_process

    cluster = home.cluster()
    log = start_logs("doctor")
    tell_in_log("doctor")
    seat = seat or take_seat(home, cluster, entry.name, listen, None if roused else entry.incarnation)
    if seat is None:
        log.info("doctor is there already", name=entry.name)
        return EXIT_OLD
    reserved = _reserve(launching(cluster))

    def mourn(role: Role, pid: int) -> None:
        if role == "gateway":
            forget_process(pid)

    code = Doctor(home, entry, bodies(), seat, log, mourn).run()
    if reserved is not None:
        reserved.close()
    sys.stderr.flush()
    return code


def _reserve(given: Launching) -> socket.socket | None:
    """A socket that is bound and not listened on: so the port stays ours while gateways come and go."""
    if given.port:
        with suppress(UsageError):
            return replace(given.place(), shared=True).bind()
    return None


def _path(text: str) -> Path | None:
    return Path(text) if text else None
