"""Starts the processes of private nodes and waits until they answer; an error has the end of the node's log."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cauce.errors import BrokerFailed, UsageError
from cauce.lab.broker.configuration import environment, settings, without_brokers
from cauce.lab.broker.installation import Installation
from cauce.lab.broker.layout import LOOPBACK, Layout, Node, Place, write_private
from cauce.lab.broker.processes import launch, running

PATIENCE_S = 120.0
"""Timeout for the start of a node: on a busy machine, after a crash, together with its peers."""
LOOK_EVERY_S = 0.05
CONNECT_S = 1.0
FREE_S = 5.0
SHOWN_LINES = 12
SHOWN_CHARACTERS = 160
WHY = "BOOT FAILED"
"""Marks the start of RabbitMQ's explanation of a failed start."""
GREETING = b"AMQP\x00\x00\x09\x01"
METHOD_FRAME = b"\x01"


def _free_soon(host: str, port: int) -> bool:
    """Waits for a port: the kernel may close the sockets of a killed process a moment after its exit."""
    due = time.monotonic() + FREE_S
    while listens(host, port):
        if time.monotonic() > due:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def launch_node(installation: Installation, place: Place, layout: Layout, node: Node) -> None:
    own = place.of(node)
    if installation.root is not None and place.folder.is_relative_to("/usr"):
        raise UsageError(
            f"nodes of RabbitMQ {installation.label} cannot see {place.folder}: name a folder outside of /usr"
        )
    for port in (node.port, node.distribution_port):
        if not _free_soon(node.host, port):
            raise BrokerFailed(
                f"port {port}, which node {node.name} had before, is taken by another program: stop that program, "
                f"or remove {place.folder} and start again"
            )
    write_private(own / "rabbitmq.conf", settings(installation.version, layout, node))
    write_private(own / "enabled_plugins", "[].\n")
    write_private(place.version(node), ".".join(installation.label.split(".")[:2]) + "\n")
    place.printed(node).unlink(missing_ok=True)
    # Erlang ignores the additional arguments; they make the process recognisable on its command line.
    command = [*node.prefix, *installation.prefix, str(installation.server), "-cauce", layout.mark]
    launch(command, environment(place, layout, node), place.printed(node), place.pid(node))


def launch_epmd(installation: Installation, place: Place, layout: Layout, node: Node) -> None:
    """Starts Erlang's name server on a private port, so that clusters do not share that of the system."""
    pid_file = place.epmd_pid(node)
    if running(pid_file, layout.epmd_mark) is not None:
        return
    served = [each.host for each in layout.nodes if place.epmd_pid(each) == pid_file]
    hosts = ",".join(sorted({LOOPBACK, *served}))
    command = [*node.prefix, *installation.prefix, str(installation.epmd), *layout.epmd_mark.split(), "-address", hosts]
    log = pid_file.with_name("epmd.log")
    launch(command, without_brokers(), log, pid_file)
    _wait(
        lambda: listens(node.host, layout.epmd_port),
        lambda: running(pid_file, layout.epmd_mark) is not None,
        f"epmd, Erlang's name server, did not start on port {layout.epmd_port}",
        [log],
    )


def wait_ready(place: Place, layout: Layout, nodes: Sequence[Node], patience_s: float = PATIENCE_S) -> None:
    """Waits until AMQP answers on each of these nodes; raises with the end of the log of one that does not start."""
    deadline = time.monotonic() + patience_s
    for node in nodes:
        _wait(
            lambda node=node: greeted(node),  # type: ignore[misc]
            lambda node=node: running(place.pid(node), layout.mark) is not None,  # type: ignore[misc]
            f"node {node.name} did not start on {node.endpoint}",
            [place.printed(node), place.log(node)],
            deadline,
        )


def _wait(
    ready: Callable[[], bool], is_alive: Callable[[], bool], problem: str, logs: Sequence[Path], deadline: float = 0.0
) -> None:
    until = deadline or time.monotonic() + PATIENCE_S
    while not ready():
        alive = is_alive()
        if alive and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
            continue
        why = "it runs and does not answer" if alive else "it exited"
        raise BrokerFailed(f"{problem}: {why}; {_end_of_log(logs)}")


def _end_of_log(logs: Sequence[Path]) -> str:
    """RabbitMQ's explanation of the failure if there is one, else the end of its log; with the path."""
    # The first log that is not empty: a node prints to its standard output only if it cannot start.
    log = next((log for log in logs if log.is_file() and log.stat().st_size), None)
    if log is None:
        return f"{logs[-1]} is empty or does not exist"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    reasons = [at for at, line in enumerate(lines) if WHY in line]
    shown = lines[reasons[-1] :][:SHOWN_LINES] if reasons else lines[-SHOWN_LINES:]
    return "\n".join([f"from {log}:", *(line[:SHOWN_CHARACTERS] for line in shown)])


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def greeted(node: Node) -> bool:
    """Whether AMQP answers on its port."""
    try:
        with socket.create_connection((node.host, node.port), timeout=CONNECT_S) as connection:
            connection.sendall(GREETING)
            return connection.recv(1) == METHOD_FRAME
    except OSError:
        return False
