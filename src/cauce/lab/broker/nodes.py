"""Private RabbitMQ nodes in a folder: start, inspect, fault injection, stop. Loopback addresses only."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cauce.errors import BrokerFailed, FabricError, UsageError
from cauce.fabric.address import parse
from cauce.fabric.rabbitmq.capability_probe import probe_broker
from cauce.lab.broker.configuration import control_environment
from cauce.lab.broker.control import CONTROL, PATIENCE_S, run_control
from cauce.lab.broker.launch import greeted, launch_epmd, launch_node, wait_ready
from cauce.lab.broker.layout import LOOPBACK, Layout, Node, Place, decide
from cauce.lab.broker.processes import running, wait_gone
from cauce.lab.broker.releases import choose, choose_again
from cauce.process.table import send_signal_to_pid

STOP_PATIENCE_S = 20.0
KILL_PATIENCE_S = 10.0
SHOWN = 200
"""Characters of a command, in errors."""


class Nodes:
    """The nodes of one folder. All state is in the folder: several objects may use it."""

    def __init__(self, place: Place, layout: Layout) -> None:
        self.place = place
        self.layout = layout

    @property
    def address(self) -> str:
        """`amqp://user:password@host:port/%2F`, with `,host:port` for each further node."""
        return self.layout.address()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.layout.nodes)

    def node(self, name: str) -> Node:
        for node in self.layout.nodes:
            if node.name == name:
                return node
        raise UsageError(f"node {name} does not exist in {self.place.folder}; expected one of {', '.join(self.names)}")

    def pid(self, name: str) -> int | None:
        """The process of a node, if it runs."""
        return running(self.place.pid(self.node(name)), self.layout.mark)

    def epmd_pid(self, name: str = "") -> int | None:
        """The name server of a node, or of the first, if it runs."""
        node = self.node(name or self.names[0])
        return running(self.place.epmd_pid(node), self.layout.epmd_mark)

    def answers(self, name: str) -> bool:
        """Whether AMQP answers on its port: not while it starts, is paused, or is in a minority."""
        return greeted(self.node(name))

    def start(self, version: str | None = None) -> list[str]:
        """Starts the nodes that do not run and waits until all answer; returns the names of those it started. They run
        the given version, else the one that they ran before."""
        with self.place.locked():
            return self._start(version)

    def _start(self, version: str | None) -> list[str]:
        missing = [name for name in self.names if self.pid(name) is None]
        is_new = all(self.place.version_of(node) is None for node in self.layout.nodes)
        try:
            self._launch(missing, version)
            self.wait_ready()
            if is_new:
                self._declare_first_stream()
        except BaseException:
            self._end(missing, gently=False)
            if not any(map(self.pid, self.names)):
                self._end_epmd()
            raise
        return missing

    def stop_one(self, name: str) -> None:
        """Stops a node in order, as before an upgrade."""
        self._end([name], gently=True)

    def stop(self, *, gently: bool = True) -> list[str]:
        """Stops the nodes and their name server; returns the names of nodes that ran."""
        with self.place.locked():
            ran = [name for name in self.names if self.pid(name) is not None]
            self._end(ran, gently=gently)
            self._end_epmd()
        return ran

    def kill(self, name: str) -> None:
        """Sends SIGKILL, and waits for the exit."""
        self._end([name], gently=False)

    def start_again(self, name: str, *, wait: bool = True, version: str | None = None) -> None:
        """Starts a node that was stopped or killed, and waits until it answers."""
        if self.pid(name) is None:
            self._launch([name], version)
        if wait:
            self.wait_ready(name)

    def wait_ready(self, *names: str) -> None:
        """Waits until AMQP answers on these nodes, or on all."""
        wait_ready(self.place, self.layout, [self.node(name) for name in names or self.names])

    def pause(self, name: str) -> None:
        self._signal(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)

    def ctl(self, name: str, *arguments: str, patience_s: float = PATIENCE_S) -> str:
        """Runs `rabbitmqctl` on a node and returns its output."""
        node, asked = self.node(name), f"{CONTROL} {' '.join(arguments)[:SHOWN]} on {name}"
        installation = choose_again(self.place.version_of(node))
        control = [*node.prefix, *installation.prefix, str(installation.control)]
        command = [*control, "--longnames", "--quiet", "--node", node.full_name, *arguments]
        own = control_environment(self.place, self.layout, node)
        return run_control(command, own, asked, patience_s)

    def _launch(self, names: Sequence[str], version: str | None = None) -> None:
        for node in self.layout.nodes:
            installation = choose(version) if version else choose_again(self.place.version_of(node))
            launch_epmd(installation, self.place, self.layout, node)
            if node.name in names:
                launch_node(installation, self.place, self.layout, node)

    def _declare_first_stream(self) -> None:
        """Declares a stream and deletes it: a node that is killed right after the very first one of its cluster may
        lose its member of the stream coordinator for good."""
        with suppress(FabricError):
            probe_broker(parse(self.address))

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self.pid(name)
        if pid is None:
            raise BrokerFailed(f"node {name} of {self.place.folder} does not run")
        send_signal_to_pid(pid, number)

    def _end(self, names: Sequence[str], *, gently: bool) -> None:
        pids = [pid for name in names if (pid := self.pid(name)) is not None]
        if gently:
            for pid in pids:
                send_signal_to_pid(pid, signal.SIGTERM)
                # A paused process would not receive it.
                send_signal_to_pid(pid, signal.SIGCONT)
            pids = wait_gone(pids, self.layout.mark, STOP_PATIENCE_S)
        for pid in pids:
            send_signal_to_pid(pid, signal.SIGKILL)
        wait_gone(pids, self.layout.mark, KILL_PATIENCE_S)

    def _end_epmd(self) -> None:
        for name in self.names:
            pid = self.epmd_pid(name)
            if pid is not None:
                send_signal_to_pid(pid, signal.SIGTERM)
                if wait_gone([pid], self.layout.epmd_mark, KILL_PATIENCE_S):
                    send_signal_to_pid(pid, signal.SIGKILL)


def start(
    folder: Path,
    count: int | None = None,
    hosts: Sequence[str] = (),
    prefixes: Sequence[Sequence[str]] = (),
    version: str | None = None,
) -> Nodes:
    """Starts the nodes of a folder and waits until all answer. `hosts` has an address for each (default: 127.0.0.1);
    `prefixes` has a command prefix for each, if each is on a host of its own."""
    nodes = prepare(folder, count, hosts, prefixes)
    nodes.start(version)
    return nodes


def prepare(
    folder: Path, count: int | None = None, hosts: Sequence[str] = (), prefixes: Sequence[Sequence[str]] = ()
) -> Nodes:
    """The nodes of a folder, without starting any. The first call decides and stores their layout."""
    choose()
    place, wanted = Place(folder), count or len(hosts) or None
    place.prepare()
    with place.locked():
        layout = place.read()
        if layout is None:
            layout = decide(hosts or (LOOPBACK,) * (wanted or 1), prefixes)
            place.write(layout)
    if wanted not in (None, len(layout.nodes)):
        raise UsageError(f"{place.folder} was made for --nodes {len(layout.nodes)}, not {wanted}; name another folder")
    return Nodes(place, layout)


def existing(folder: Path) -> Nodes | None:
    """The nodes of a folder, running or not; None if it has none."""
    place = Place(folder)
    layout = place.read()
    return None if layout is None else Nodes(place, layout)
