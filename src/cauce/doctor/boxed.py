"""A process that lives in a container, as its doctor sees it: this one, which starts the container, waits for its end
and ends in the same way. Signalled, it passes the signal on.

When it is killed itself its container goes on; the next incarnation removes that before it starts its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

import msgspec
from setproctitle import setproctitle

from cauce.doctor.docker import Box, Docker
from cauce.doctor.home import Entry, Home
from cauce.doctor.names import role_of
from cauce.errors import DockerFailed

BOXED = "CAUCE_BOXED"
"""Set in a container: who is in it is on record by the process outside."""
GRACE_S = 4
LAST_LINES = 50
AGAIN_S = 1.0
MOST_TRIES = 60


class Boxes(msgspec.Struct, frozen=True):
    """How containers are made on this host. `binds` are paths that they see under the same name."""

    image: str
    engine: str
    binds: list[str] = []
    network: str = "host"


def container_name(cluster: str, name: str) -> str:
    return f"cauce-{cluster}-{name.replace('@', '-at-')}"


def box_of(home: Home, entry: Entry, boxes: Boxes) -> Box:
    command = [role_of(entry.name), "--dir", str(home.folder), "--name", entry.name]
    command += ["--incarnation", str(entry.incarnation), "--restarts", str(entry.restarts)]
    cluster = home.cluster()
    labels = {"cauce.cluster": cluster.id, "cauce.name": entry.name, "cauce.incarnation": str(entry.incarnation)}
    paths = dict.fromkeys([str(home.folder), *boxes.binds])
    binds = [f"{path}:{path}" for path in paths]
    return Box(boxes.image, command, {BOXED: "1"}, labels, binds, boxes.network, f"{os.getuid()}:{os.getgid()}")


def live_in_box(home: Home, entry: Entry, boxes: Boxes) -> int:
    """Until the container has ended; its exit code, or death by its signal."""
    setproctitle(f"cauce box {entry.name}")
    docker = Docker(boxes.engine)
    name = container_name(home.cluster().id, entry.name)
    docker.remove(name)
    docker.create(name, box_of(home, entry, boxes))
    docker.start(name)
    _pass_on(docker, name)
    code = _wait(docker, name)
    sys.stderr.write(docker.last_words(name, LAST_LINES).decode(errors="replace"))
    sys.stderr.flush()
    docker.remove(name)
    if code > 128:
        _die_by(code - 128)
    return code


def _pass_on(docker: Docker, name: str) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        docker.stop(name, GRACE_S)

    def stack(number: int, frame: FrameType | None) -> None:
        docker.kill(name, "SIGUSR1")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR1, stack)


def _wait(docker: Docker, name: str) -> int:
    """Also over the restart of an engine that lets its containers go on."""
    tries = 0
    while True:
        try:
            return docker.wait(name)
        except DockerFailed as problem:
            if problem.status == 404:
                raise DockerFailed(f"the container {name} was removed by somebody else", 404) from None
        try:
            running, code = docker.running(name)
            if not running:
                return code
            tries = 0
        except DockerFailed:
            tries += 1
            if tries > MOST_TRIES:
                raise
        time.sleep(AGAIN_S)


def _die_by(number: int) -> None:
    """So that the doctor sees how it ended."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pause()
