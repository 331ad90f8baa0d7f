"""The fixed properties of a folder of private nodes, stored in it: names, ports, password, paths."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cauce.errors import UsageError
from cauce.process.private_files import FILE_MODE, make_directory, replace_file

FILE = "broker.json"
LOCK = "lock"
LOOPBACK = "127.0.0.1"
PORTS = range(15_000, 32_000)
"""Below the ephemeral ports of the kernel: a port is chosen seconds before the node binds it."""


class Node(msgspec.Struct, frozen=True):
    name: str
    """`r1`: its name within the folder, and that of its own folder there."""
    host: str
    port: int
    distribution_port: int
    prefix: tuple[str, ...] = ()
    """Prefix of its commands if it is on a host of its own, such as `ip netns exec NAME`."""

    @property
    def full_name(self) -> str:
        """Its Erlang node name."""
        return f"{self.name}@{self.host}"

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"


class Layout(msgspec.Struct, frozen=True):
    nodes: tuple[Node, ...]
    epmd_port: int
    user: str
    password: str
    mark: str
    """On the command line of every node, so that another process with a reused id is not mistaken for it."""

    @property
    def epmd_mark(self) -> str:
        """The same for the name server: no other process listens on its port."""
        return f"-port {self.epmd_port}"

    def address(self, *nodes: Node) -> str:
        """The AMQP address of some nodes, or of all."""
        first, *others = nodes or self.nodes
        more = "".join(f",{each.endpoint}" for each in others)
        return f"amqp://{self.user}:{self.password}@{first.endpoint}/%2F{more}"


class Place:
    """The paths below a folder of nodes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.file = self.folder / FILE
        self.lock = self.folder / LOCK
        self.home = self.folder / "home"

    def of(self, node: Node) -> Path:
        return self.folder / node.name

    def pid(self, node: Node) -> Path:
        return self.of(node) / "pid"

    def version(self, node: Node) -> Path:
        """The file with the version that it last ran, as its first two numbers."""
        return self.of(node) / "version"

    def version_of(self, node: Node) -> str | None:
        """None if it has never been started."""
        try:
            return self.version(node).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None

    def epmd_pid(self, node: Node) -> Path:
        """The pid file of its name server, which all nodes share unless they are on hosts of their own."""
        return (self.of(node) if node.prefix else self.folder) / "epmd.pid"

    def log(self, node: Node) -> Path:
        return self.of(node) / "log" / f"{node.name}.log"

    def printed(self, node: Node) -> Path:
        """Its standard output, from before it had a log."""
        return self.of(node) / "log" / "printed.log"

    def read(self) -> Layout | None:
        """The stored layout, if there is one."""
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=Layout)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, NotADirectoryError):
            raise UsageError(f"{self.file} is not a file of cauce broker; name another folder") from None

    def prepare(self) -> None:
        """Creates the folder; raises if it holds other files."""
        make_directory(self.folder)
        if not self.file.exists() and any(each.name != LOCK for each in self.folder.iterdir()):
            raise UsageError(f"{self.folder} holds other files; name a new or an empty folder")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process at a time starts or stops the nodes of the folder."""
        with open(os.open(self.lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def write(self, layout: Layout) -> None:
        write_private(self.home / ".erlang.cookie", secrets.token_hex(20), mode=0o400)
        write_private(self.file, msgspec.json.format(msgspec.json.encode(layout), indent=2).decode() + "\n")


def decide(hosts: Sequence[str], prefixes: Sequence[Sequence[str]] = ()) -> Layout:
    """A layout with one node on each address, on ports that are free now; with `prefixes`, on hosts of their own."""
    # On a host of its own all ports are free.
    ports = free_ports(() if prefixes else hosts)
    nodes = tuple(
        Node(f"r{number}", host, next(ports), next(ports), tuple(prefix))
        for number, (host, prefix) in enumerate(zip(hosts, prefixes or [()] * len(hosts), strict=True), start=1)
    )
    return Layout(nodes, next(ports), "cauce", secrets.token_urlsafe(18), secrets.token_hex(8))


def free_ports(hosts: Sequence[str]) -> Iterator[int]:
    """Ports that are free on all of these addresses, without repetition."""
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if all(_is_free(host, port) for host in {LOOPBACK, *hosts}):
            yield port
    raise UsageError(f"no port from {PORTS[0]} to {PORTS[-1]} is free")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as trial:
        try:
            trial.bind((host, port))
        except OSError as problem:
            if problem.errno == errno.EADDRNOTAVAIL:
                raise UsageError(f"{host} is not an address of this machine") from None
            return False
    return True


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Writes a file that only its owner can read, atomically."""
    make_directory(path.parent)
    replace_file(path, text.encode(), mode)
