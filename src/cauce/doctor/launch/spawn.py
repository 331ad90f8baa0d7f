"""Starts processes of this host: as a fork of a doctor, which has all libraries loaded, or as a new program if forking
is not safe. They must survive the exit of their doctor."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cauce.doctor.launch.container import IN_CONTAINER
from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir
from cauce.doctor.model.messages import Generation
from cauce.doctor.model.names import Role, role_of
from cauce.process.isolation import may_fork
from cauce.process.output import never_fail_on_output
from cauce.process.private_files import FILE_MODE
from cauce.process.starting import fork as fork_process
from cauce.process.starting import module_command
from cauce.process.table import start_of
from cauce.worker.events import EXIT_FULL, EXIT_TWIN

INHERITED_FD = 3

MainFunction = Callable[[ServiceDir, ProcessEntry], int]
"""Main function of a process role. Returns the exit code."""


@dataclass(frozen=True)
class Started:
    pid: int
    start: int


def start(
    service_dir: ServiceDir,
    main_functions: Mapping[Role, MainFunction],
    name: str,
    generation: Generation,
    restarts: int,
) -> Started:
    """Raises an OSError if the machine cannot start another process."""
    if may_fork():
        return fork(service_dir, main_functions[role_of(name)], name, generation, restarts)
    return spawn(service_dir, name, generation, restarts)


def fork(
    service_dir: ServiceDir,
    main_function: MainFunction,
    name: str,
    generation: Generation,
    restarts: int,
    inherited_fd: int | None = None,
) -> Started:
    """`inherited_fd` is a descriptor that the child inherits as number 3."""

    def run() -> int:
        _detach(service_dir, name, inherited_fd)
        return run_registered(service_dir, main_function, name, generation, restarts)

    pid = fork_process(run)
    return Started(pid, start_of(pid))


def spawn(service_dir: ServiceDir, name: str, generation: Generation | None = None, restarts: int = 0) -> Started:
    """Starts a new program: for callers with threads and for callers that are not doctors."""
    given = ["--generation", str(generation), "--restarts", str(restarts)] if generation is not None else []
    role = role_of(name)
    # The service directory has all settings: variables and a configuration file here are for processes of their own.
    variables = {key: value for key, value in os.environ.items() if not key.startswith(f"CAUCE_{role.upper()}_")}
    given += ["--config", ""]
    command = module_command("cauce", role, "--dir", str(service_dir.folder), "--name", name, *given)
    with open(_open_log(service_dir, name), "ab") as log:
        made = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=True,
        )
    _spawned.append(made)
    return Started(made.pid, start_of(made.pid))


_spawned: list[subprocess.Popen[bytes]] = []
"""Kept, since Popen warns if it is garbage-collected while its process runs."""


def reap_spawned() -> None:
    """Reaps exited children. For processes that are not doctors."""
    _spawned[:] = [each for each in _spawned if each.poll() is None]


def run_registered(
    service_dir: ServiceDir, main_function: MainFunction, name: str, generation: Generation, restarts: int
) -> int:
    """Registers this process, runs its main function and unregisters it. Returns the exit code."""
    never_fail_on_output()
    if IN_CONTAINER in os.environ:
        # The stand-in outside is registered; our pid means nothing there.
        return main_function(service_dir, ProcessEntry(name, generation, restarts))
    try:
        entry = service_dir.register(name, generation, restarts)
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        sys.stderr.write(
            f"cauce {name}: no space left in {service_dir.run} to register the process; free disk space there\n"
        )
        return EXIT_FULL
    if entry is None:
        # Another doctor has already started this generation.
        return EXIT_TWIN
    try:
        return main_function(service_dir, entry)
    finally:
        service_dir.unregister(name, generation)


def _detach(service_dir: ServiceDir, name: str, inherited_fd: int | None) -> None:
    """Detaches a fork from the doctor: resets signals, closes descriptors, starts a session, redirects output."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    log = _open_log(service_dir, name)
    for fd, place in (
        (null, 0),
        (log, 1),
        (log, 2),
        *(((inherited_fd, INHERITED_FD),) if inherited_fd is not None else ()),
    ):
        os.dup2(fd, place)
    os.closerange(INHERITED_FD if inherited_fd is None else INHERITED_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _open_log(service_dir: ServiceDir, name: str) -> int:
    try:
        return os.open(service_dir.log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, FILE_MODE)
    except OSError:
        # The disk may be full. A process without a log is better than no process.
        return os.open(os.devnull, os.O_WRONLY)
