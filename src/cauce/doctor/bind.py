"""Binds the UDP address of a doctor. If it is in use, the doctor there is queried, and killed if it does not answer."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time

from cauce.doctor.launch.service_dir import Cluster, ServiceDir
from cauce.doctor.messaging.udp import address_of, address_text, bind
from cauce.doctor.model.messages import Generation
from cauce.doctor.query import QueryClient
from cauce.errors import UsageError
from cauce.process.table import is_running, send_signal

ANSWER_S = 3.0
FREE_S = 2.0


def bind_doctor(
    service_dir: ServiceDir, cluster: Cluster, name: str, listen: str = "", wanted: Generation | None = None
) -> socket.socket | None:
    """Binds the address; None if a working doctor of this name holds it. A doctor started by a leader (`wanted`)
    replaces an older instance without a query."""
    address = listen or cluster.doctors[name]
    bound = _try(address)
    if bound is not None:
        return bound
    if not _evict_others(service_dir, cluster, name, address, wanted):
        return None
    bound = _try(address)
    if bound is None:
        raise UsageError(
            f"{address} is in use by a process that is not a doctor of this cluster; use another address for {name}"
        )
    return bound


def _evict_others(
    service_dir: ServiceDir, cluster: Cluster, name: str, address: str, wanted: Generation | None
) -> bool:
    others = [each for each in service_dir.running_processes() if each.name == name and each.pid != os.getpid()]
    if wanted is None or any(each.generation > wanted for each in others):
        with QueryClient(_alone(cluster, address)) as client:
            if client.status(ANSWER_S) is not None:
                return False
    for each in others:
        send_signal(each.pid, each.start, signal.SIGKILL)
        _wait_until_gone(each.pid, each.start)
    return True


def bind_doctors(names: list[str], known: dict[str, str], host: str = "127.0.0.1") -> dict[str, socket.socket]:
    """A socket for each doctor, at its previous address if that is free."""
    sockets: dict[str, socket.socket] = {}
    for name in names:
        before = _try(known[name]) if name in known else None
        sockets[name] = before or bind(address_text(host, 0))
    return sockets


def next_generation(service_dir: ServiceDir) -> Generation:
    """For a process not started by a leader: newer than all instances known on this host."""
    return Generation(service_dir.epoch(), int(time.time() * 1000))


def address_of_socket(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return address_text(host, port)


def _try(address: str) -> socket.socket | None:
    try:
        return bind(address)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            return None
        host, _ = address_of(address)
        raise UsageError(f"cannot bind the address of a doctor on {host}: {problem.strerror or problem}") from None


def _alone(cluster: Cluster, address: str) -> Cluster:
    return Cluster(cluster.id, cluster.key, {"doctor-1": address}, cluster.fabric)


def _wait_until_gone(pid: int, start: int) -> None:
    deadline = time.monotonic() + FREE_S
    while is_running(pid, start) and time.monotonic() < deadline:
        time.sleep(0.01)
