"""Hosts for tests: network namespaces on two virtual switches with a trunk between them. The machine's own network is
not changed, and everything is removed when the tests exit, in whatever way."""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

import pytest

Side = Literal["left", "right"]

SUBNET = "10.77.0"
"""Not visible outside: each test network uses these addresses."""
NAMES = Path("/var/run/netns")
CLONE_NEWNET = 0x40000000
CAPABILITIES = (12, 21)
"""Directories of the network, and of the system, which mounts a namespace under its name."""
SWEEP = """\
cat >/dev/null
for name in $(ip netns list | cut -d' ' -f1 | grep "^$1-"); do
    for pid in $(ip netns pids "$name"); do [ "$pid" = "$2" ] || kill -9 "$pid"; done
    ip netns delete "$name"
done
"""
"""Waits until the other end of its input is closed, also by an exit. The tests themselves may be on a host."""


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
        # Started first. It has its own session, so that Ctrl-C does not terminate it together with the tests.
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
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr.strip()}"
    return done.stdout


def require_namespaces() -> None:
    """Skips the test if namespaces cannot be created; in continuous integration it fails if the permissions are
    there."""
    problem = _problem()
    if problem is None:
        return
    if os.environ.get("CI") and _has_rights():
        pytest.fail(problem)
    pytest.skip(problem)


def _problem() -> str | None:
    if shutil.which("ip") is None:
        return "there is no command ip, which makes network namespaces; install iproute2"
    try:
        with Network() as trial, trial.add("trial").entered():
            return None
    except (AssertionError, OSError) as problem:
        return f"network namespaces cannot be made: {problem}"


def _has_rights() -> bool:
    found = re.search(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return all(held >> each & 1 for each in CAPABILITIES)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def on(host: Host, command: Sequence[str]) -> list[str]:
    return [*host.prefix, *command]
