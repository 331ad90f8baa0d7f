"""A doctor's place: its address, which is its own for as long as it lives. Who finds it taken asks the one who sits
there, and ends it if it does not answer."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time

from cauce.doctor.asking import Asker
from cauce.doctor.home import Cluster, Home
from cauce.doctor.messages import Incarnation
from cauce.doctor.post import address_of, address_text, bind
from cauce.doctor.proc import lives, send_signal
from cauce.errors import UsageError

ANSWER_S = 3.0
FREE_S = 2.0


def take_seat(
    home: Home, cluster: Cluster, name: str, listen: str = "", wanted: Incarnation | None = None
) -> socket.socket | None:
    """None if a doctor of this name is at work here. One that a leader wants (`wanted`) takes the place of an older
    one without asking: that is what it was started for."""
    address = listen or cluster.doctors[name]
    bound = _try(address)
    if bound is not None:
        return bound
    if not _frees_seat(home, cluster, name, address, wanted):
        return None
    bound = _try(address)
    if bound is None:
        raise UsageError(
            f"{address} is taken by somebody who is no doctor of this cluster: give {name} another address"
        )
    return bound


def _frees_seat(home: Home, cluster: Cluster, name: str, address: str, wanted: Incarnation | None) -> bool:
    others = [each for each in home.survivors() if each.name == name and each.pid != os.getpid()]
    if wanted is None or any(each.incarnation > wanted for each in others):
        with Asker(_alone(cluster, address)) as asker:
            if asker.view(ANSWER_S) is not None:
                return False
    for each in others:
        send_signal(each.pid, each.start, signal.SIGKILL)
        _wait_until_gone(each.pid, each.start)
    return True


def free_seats(names: list[str], known: dict[str, str], host: str = "127.0.0.1") -> dict[str, socket.socket]:
    """A socket for each, at the address it had before where that is free."""
    seats: dict[str, socket.socket] = {}
    for name in names:
        before = _try(known[name]) if name in known else None
        seats[name] = before or bind(address_text(host, 0))
    return seats


def next_incarnation(home: Home) -> Incarnation:
    """For a process that no leader has started: later than all that are known on this host."""
    return Incarnation(home.epoch(), int(time.time() * 1000))


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
        raise UsageError(f"a doctor cannot listen on {host}: {problem.strerror or problem}") from None


def _alone(cluster: Cluster, address: str) -> Cluster:
    return Cluster(cluster.id, cluster.key, {"doctor-1": address}, cluster.fabric)


def _wait_until_gone(pid: int, start: int) -> None:
    deadline = time.monotonic() + FREE_S
    while lives(pid, start) and time.monotonic() < deadline:
        time.sleep(0.01)
