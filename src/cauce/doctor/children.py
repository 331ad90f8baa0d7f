"""Starting processes of this host: a fork of a doctor, which has everything loaded, or a new program where no fork can
be had. They are nobody's to take down: they outlive their doctor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cauce.doctor.boxed import BOXED
from cauce.doctor.home import Entry, Home
from cauce.doctor.messages import Incarnation
from cauce.doctor.names import Role, role_of
from cauce.doctor.proc import start_of
from cauce.worker.events import EXIT_FAILED, EXIT_TWIN
from cauce.worker.forked import may_fork

KEPT = 3

Body = Callable[[Home, Entry], int]
"""What a process of a role does, from its beginning to its exit code."""


@dataclass(frozen=True)
class Started:
    pid: int
    start: int


def start(home: Home, bodies: Mapping[Role, Body], name: str, incarnation: Incarnation, restarts: int) -> Started:
    """Raises an OSError if the machine has no room for another process."""
    if may_fork():
        return fork(home, bodies[role_of(name)], name, incarnation, restarts)
    return spawn(home, name, incarnation, restarts)


def fork(
    home: Home, body: Body, name: str, incarnation: Incarnation, restarts: int, kept: int | None = None
) -> Started:
    """`kept` is a descriptor that the child is to have, as number 3."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = EXIT_FAILED
        try:
            _begin_anew(home, name, kept)
            code = live(home, body, name, incarnation, restarts)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            raise
        finally:
            sys.stderr.flush()
            # Not a normal exit: what the doctor loaded is not this process's to take down.
            os._exit(code)
    return Started(pid, start_of(pid))


def spawn(home: Home, name: str, incarnation: Incarnation | None = None, restarts: int = 0) -> Started:
    """A new program: for whoever has threads, and for who is not a doctor."""
    given = ["--incarnation", str(incarnation), "--restarts", str(restarts)] if incarnation is not None else []
    command = [sys.executable, "-P", "-m", "cauce", role_of(name), "--dir", str(home.folder), "--name", name, *given]
    with home.log(name).open("ab") as log:
        made = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, close_fds=True
        )
    _spawned.append(made)
    return Started(made.pid, start_of(made.pid))


_spawned: list[subprocess.Popen[bytes]] = []
"""Kept, since one that is forgotten while it runs is complained about."""


def bury_spawned() -> None:
    """For who is no doctor and would leave the dead unburied."""
    _spawned[:] = [each for each in _spawned if each.poll() is None]


def live(home: Home, body: Body, name: str, incarnation: Incarnation, restarts: int) -> int:
    """The whole life of a process."""
    if BOXED in os.environ:
        # Who started the container is on record; our pid is another's outside.
        return body(home, Entry(name, incarnation, restarts))
    entry = home.begin(name, incarnation, restarts)
    if entry is None:
        # Another doctor was asked for the same and was faster.
        return EXIT_TWIN
    try:
        return body(home, entry)
    finally:
        home.end(name, incarnation)


def _begin_anew(home: Home, name: str, kept: int | None) -> None:
    """Nothing of the doctor's is this process's: neither its signals nor its descriptors nor its session."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDONLY)
    log = os.open(home.log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for fd, place in ((quiet, 0), (log, 1), (log, 2), *(((kept, KEPT),) if kept is not None else ())):
        os.dup2(fd, place)
    os.closerange(KEPT if kept is None else KEPT + 1, os.sysconf("SC_OPEN_MAX"))
