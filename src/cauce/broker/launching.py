"""Starts the processes of private nodes and waits until they answer; tells what a node said that did not come up."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cauce.broker.configuration import environment, settings, without_brokers
from cauce.broker.installation import Installation
from cauce.broker.layout import LOOPBACK, Layout, Node, Place, write_private
from cauce.broker.processes import launch, running
from cauce.errors import BrokerFailed

PATIENCE_S = 120.0
"""For a node to come up: on a busy machine, after a crash, with peers that come up too."""
LOOK_EVERY_S = 0.05
CONNECT_S = 1.0
FREE_S = 5.0
TOLD_LINES = 12
TOLD_CHARACTERS = 160
WHY = "BOOT FAILED"
"""Where RabbitMQ begins to say, for people, why it gave up."""
GREETING = b"AMQP\x00\x00\x09\x01"
METHOD_FRAME = b"\x01"


def _free_soon(host: str, port: int) -> bool:
    """The threads of a killed process close its sockets, and may do so a moment after it seems to be gone."""
    due = time.monotonic() + FREE_S
    while listens(host, port):
        if time.monotonic() > due:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def launch_node(installation: Installation, place: Place, layout: Layout, node: Node) -> None:
    own = place.of(node)
    for port in (node.port, node.distribution_port):
        if not _free_soon(node.host, port):
            raise BrokerFailed(
                f"port {port}, which node {node.name} had before, is taken by another program: stop that, "
                f"or remove {place.folder} and start anew"
            )
    write_private(own / "rabbitmq.conf", settings(installation.version, layout, node))
    write_private(own / "enabled_plugins", "[].\n")
    place.printed(node).unlink(missing_ok=True)
    # What stands behind the script's name goes to Erlang, where it means nothing and can be seen.
    command = [*node.prefix, str(installation.server), "-cauce", layout.mark]
    launch(command, environment(place, layout, node), place.printed(node), place.pid(node))


def launch_epmd(installation: Installation, place: Place, layout: Layout, node: Node) -> None:
    """Erlang's name server, on a port of its own, so that clusters do not meet in the one of the system."""
    pid_file = place.epmd_pid(node)
    if running(pid_file, layout.epmd_mark) is not None:
        return
    served = [each.host for each in layout.nodes if place.epmd_pid(each) == pid_file]
    hosts = ",".join(sorted({LOOPBACK, *served}))
    command = [*node.prefix, str(installation.epmd), *layout.epmd_mark.split(), "-address", hosts]
    log = pid_file.with_name("epmd.log")
    launch(command, without_brokers(), log, pid_file)
    _wait(
        lambda: listens(node.host, layout.epmd_port),
        lambda: running(pid_file, layout.epmd_mark) is not None,
        f"epmd, Erlang's name server, did not come up on port {layout.epmd_port}",
        [log],
    )


def wait_ready(place: Place, layout: Layout, nodes: Sequence[Node], patience_s: float = PATIENCE_S) -> None:
    """Until AMQP answers on each of these nodes; raises with the end of its log for one that does not get there."""
    deadline = time.monotonic() + patience_s
    for node in nodes:
        _wait(
            lambda node=node: greeted(node),  # type: ignore[misc]
            lambda node=node: running(place.pid(node), layout.mark) is not None,  # type: ignore[misc]
            f"node {node.name} did not come up on {node.endpoint}",
            [place.printed(node), place.log(node)],
            deadline,
        )


def _wait(
    ready: Callable[[], bool], lives: Callable[[], bool], problem: str, logs: Sequence[Path], deadline: float = 0.0
) -> None:
    until = deadline or time.monotonic() + PATIENCE_S
    while not ready():
        alive = lives()
        if alive and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
            continue
        why = "it runs and says nothing" if alive else "it ended"
        raise BrokerFailed(f"{problem}: {why}; {_last_words(logs)}")


def _last_words(logs: Sequence[Path]) -> str:
    """Why it gave up if it said so, else the end of what it wrote; with the path."""
    # The first log that has anything: what a node prints it prints because it cannot go on.
    log = next((log for log in logs if log.is_file() and log.stat().st_size), None)
    if log is None:
        return f"nothing was written to {logs[-1]}"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    reasons = [at for at, line in enumerate(lines) if WHY in line]
    told = lines[reasons[-1] :][:TOLD_LINES] if reasons else lines[-TOLD_LINES:]
    return "\n".join([f"from {log}:", *(line[:TOLD_CHARACTERS] for line in told)])


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def greeted(node: Node) -> bool:
    """Whether AMQP answers on its port."""
    try:
        with socket.create_connection((node.host, node.port), timeout=CONNECT_S) as talk:
            talk.sendall(GREETING)
            return talk.recv(1) == METHOD_FRAME
    except OSError:
        return False
