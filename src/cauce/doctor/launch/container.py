"""Stand-in process for a container: starts the container, forwards signals, and exits as the container does.

If the stand-in is killed, its container continues; the next generation removes it before it starts its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

import msgspec
from setproctitle import setproctitle

from cauce.doctor.launch.docker import ContainerSpec, Docker
from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir
from cauce.doctor.model.names import role_of
from cauce.errors import DockerFailed
from cauce.worker.events import EXIT_MEMORY

IN_CONTAINER = "CAUCE_IN_CONTAINER"
"""Environment variable set in a container: the stand-in outside registers the process."""
GRACE_S = 4
LAST_LINES = 50
RETRY_S = 1.0
MAX_TRIES = 60


class ContainerSettings(msgspec.Struct, frozen=True):
    """Container settings of this host. `binds` are paths mounted read-only under the same name; `writable` are those
    mounted read-write."""

    image: str
    engine: str
    binds: list[str] = []
    network: str = "host"
    writable: list[str] = []


def container_name(cluster: str, name: str) -> str:
    return f"cauce-{cluster}-{name.replace('@', '-at-')}"


def container_spec(service_dir: ServiceDir, entry: ProcessEntry, settings: ContainerSettings) -> ContainerSpec:
    command = [role_of(entry.name), "--dir", str(service_dir.folder), "--name", entry.name]
    command += ["--generation", str(entry.generation), "--restarts", str(entry.restarts)]
    cluster = service_dir.cluster()
    labels = {"cauce.cluster": cluster.id, "cauce.name": entry.name, "cauce.generation": str(entry.generation)}
    writable = dict.fromkeys(
        [str(service_dir.folder), *(path for path in settings.writable if not _is_in(path, service_dir.folder))]
    )
    read_only = dict.fromkeys(path for path in settings.binds if not any(_is_in(path, Path(each)) for each in writable))
    binds = [*(f"{path}:{path}" for path in writable), *(f"{path}:{path}:ro" for path in read_only)]
    return ContainerSpec(
        settings.image, command, {IN_CONTAINER: "1"}, labels, binds, settings.network, f"{os.getuid()}:{os.getgid()}"
    )


def _is_in(path: str, folder: Path) -> bool:
    return Path(path).is_relative_to(folder)


def run_in_container(service_dir: ServiceDir, entry: ProcessEntry, settings: ContainerSettings) -> int:
    """Runs the container and returns its exit code, or exits by its signal. Returns `EXIT_MEMORY` after an OOM kill: no
    process inside can detect it, since the kernel's counter is removed with the container."""
    setproctitle(f"cauce container {entry.name}")
    docker = Docker(settings.engine)
    name = container_name(service_dir.cluster().id, entry.name)
    docker.remove(name)
    docker.create(name, container_spec(service_dir, entry, settings))
    docker.start(name)
    _forward_signals(docker, name)
    code = _wait(docker, name)
    sys.stderr.write(docker.last_output(name, LAST_LINES).decode(errors="replace"))
    sys.stderr.flush()
    oom_killed = code == 128 + signal.SIGKILL and _oom_killed(docker, name)
    docker.remove(name)
    if oom_killed:
        return EXIT_MEMORY
    if code > 128:
        _exit_by_signal(code - 128)
    return code


def _oom_killed(docker: Docker, name: str) -> bool:
    with suppress(DockerFailed):
        return docker.oom_killed(name)
    return False


def _forward_signals(docker: Docker, name: str) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        docker.stop(name, GRACE_S)

    def stack(number: int, frame: FrameType | None) -> None:
        docker.kill(name, "SIGUSR1")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR1, stack)


def _wait(docker: Docker, name: str) -> int:
    """Waits for the exit code, also across a restart of the Docker engine."""
    tries = 0
    while True:
        try:
            return docker.wait(name)
        except DockerFailed as problem:
            if problem.status == 404:
                raise DockerFailed(f"the container {name} was removed by another program", 404) from None
        try:
            running, code = docker.running(name)
            if not running:
                return code
            tries = 0
        except DockerFailed:
            tries += 1
            if tries > MAX_TRIES:
                raise
        time.sleep(RETRY_S)


def _exit_by_signal(number: int) -> None:
    """Exits by the same signal, so that the doctor sees the cause."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pause()
