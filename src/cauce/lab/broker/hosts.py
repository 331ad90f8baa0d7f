"""Hosts of private nodes and their clients: network namespaces on two virtual switches with a trunk between them, which
can be partitioned. The machine's own network is not changed, and everything is removed when this process exits, in
whatever way. Needs Linux and root."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from cauce.errors import BrokerFailed
from cauce.lab.broker.nodes import Nodes, start

Side = Literal["left", "right"]

SUBNET = "10.77.0"
"""Not visible outside: each network uses these addresses."""
NAMES = Path("/var/run/netns")
CLONE_NEWNET = 0x40000000
NOBODY = "02:00:00:00:00:01"
"""A hardware address that no host has."""
SWEEP = """\
cat >/dev/null
for name in $(ip netns list | cut -d' ' -f1 | grep "^$1-"); do
    for pid in $(ip netns pids "$name"); do [ "$pid" = "$2" ] || kill -9 "$pid"; done
    ip netns delete "$name"
done
"""
"""Waits until the other end of its input is closed, also by an exit. This process itself may be on a host."""


@dataclass(frozen=True)
class Host:
    name: str
    namespace: str
    switch: str
    """The namespace of the switches."""
    side: Side
    address: str

    @property
    def prefix(self) -> list[str]:
        """The prefix that runs a command on this host."""
        return ["ip", "netns", "exec", self.namespace]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Moves the calling thread to this host within the block. Threads that it starts there stay there."""
        with open("/proc/thread-self/ns/net") as before, open(NAMES / self.namespace) as here:
            _enter(here.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def cut_off(self) -> None:
        """Disconnects the host."""
        ip("-n", self.switch, "link", "set", "dev", self.name, "down")

    def join(self) -> None:
        """Connects the host; the switch forwards its packets again."""
        ip("-n", self.switch, "link", "set", "dev", self.name, "up", "master", self.side)

    def separate(self, others: Iterable[Host]) -> None:
        """Drops every packet between this host and some others, silently; all else reaches each of them."""
        for other in others:
            for one, far in ((self, other), (other, self)):
                one._neighbour("replace", far.address, "lladdr", NOBODY, "nud", "permanent")

    def unite(self, others: Iterable[Host]) -> None:
        """Ends a separation."""
        for other in others:
            for one, far in ((self, other), (other, self)):
                one._neighbour("delete", far.address)

    def _neighbour(self, action: str, *rest: str) -> None:
        ip("-n", self.namespace, "neighbour", action, *rest, "dev", "eth0")

    def mute(self) -> None:
        """Keeps the host connected but drops every packet."""
        ip("-n", self.switch, "link", "set", "dev", self.name, "nomaster")


class Network:
    """Two switches and their hosts. Use it as a context manager."""

    def __init__(self) -> None:
        self._prefix = f"cauce-{secrets.token_hex(4)}"
        self._switch = f"{self._prefix}-switch"
        self.hosts: dict[str, Host] = {}

    def __enter__(self) -> Network:
        # Started first. It has its own session, so that Ctrl-C does not terminate it together with this process.
        self._sweeper = subprocess.Popen(
            ["/bin/sh", "-c", SWEEP, "sweep", self._prefix, str(os.getpid())],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._build()
        except BaseException:
            self._sweep()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._sweep()

    def _sweep(self) -> None:
        self._sweeper.communicate()

    def _build(self) -> None:
        ip("netns", "add", self._switch)
        for side in ("left", "right"):
            ip("-n", self._switch, "link", "add", side, "type", "bridge")
            ip("-n", self._switch, "link", "set", side, "up")
        ip("-n", self._switch, "link", "add", "trunk-left", "type", "veth", "peer", "name", "trunk-right")
        for side in ("left", "right"):
            ip("-n", self._switch, "link", "set", f"trunk-{side}", "up", "master", side)

    def add(self, name: str, side: Side = "left") -> Host:
        number = len(self.hosts) + 1
        made = Host(name, f"{self._prefix}-{name}", self._switch, side, f"{SUBNET}.{number}")
        self.hosts[name] = made
        own = ("-n", made.namespace)
        ip("netns", "add", made.namespace)
        ip(
            "-n",
            self._switch,
            "link",
            "add",
            "name",
            name,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            made.namespace,
        )
        ip(*own, "address", "add", f"{made.address}/24", "dev", "eth0")
        ip(*own, "link", "set", "lo", "up")
        ip(*own, "link", "set", "eth0", "up")
        made.join()
        return made

    def split(self) -> None:
        """Partitions the left from the right side."""
        ip("-n", self._switch, "link", "set", "trunk-left", "down")

    def heal(self) -> None:
        """Connects all hosts."""
        ip("-n", self._switch, "link", "set", "trunk-left", "up")
        for host in self.hosts.values():
            host.join()


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise BrokerFailed(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def problem() -> str | None:
    """Why hosts cannot be made here; None if they can."""
    if shutil.which("ip") is None:
        return "there is no command ip, which makes network namespaces; install iproute2"
    try:
        with Network() as trial, trial.add("trial").entered():
            return None
    except (BrokerFailed, OSError) as why:
        return f"network namespaces cannot be made: {why}"


@contextmanager
def nodes_on_hosts(folder: Path, count: int, version: str | None = None) -> Iterator[tuple[Network, Nodes]]:
    """Starts nodes on a host each, which has the name of its node, and runs the block on a further host."""
    with Network() as network:
        hosts = [network.add(f"r{number}") for number in range(1, count + 1)]
        with network.add("client").entered():
            nodes = start(folder, count, [each.address for each in hosts], [each.prefix for each in hosts], version)
            try:
                yield network, nodes
            finally:
                nodes.stop(gently=False)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
