"""Which fabric an address names, and how to open it. A password in an address is never shown.

files:PATH, PATH                                            folders and files of this machine
amqp://user:password@host:port/vhost[,host:port…]           a RabbitMQ cluster; all nodes share user and vhost
amqps://…?cafile=PATH&certfile=PATH&keyfile=PATH            the same over TLS
…?namespace=NAME                                            several services share a vhost, each with its name
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from cauce.errors import UsageError
from cauce.fabric.contract import Durability, Fabric
from cauce.fabric.files import FilesFabric

_SCHEMES = {"amqp": 5672, "amqps": 5671}
_TLS_OPTIONS = ("cafile", "certfile", "keyfile")
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]{1,60}")
_SECRET = re.compile(r"(://[^:/@]*):.*@", re.DOTALL)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@/?#]+)(?::(?P<port>\d{1,5}))?")


Server = tuple[str, int]
"""A host and its port."""


@dataclass(frozen=True)
class Tls:
    """Files in PEM form. Without `cafile` the authorities are those of the system."""

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None


@dataclass(frozen=True)
class Broker:
    """A RabbitMQ cluster, as an address names it."""

    servers: tuple[Server, ...]
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    namespace: str = "cauce"
    tls: Tls | None = None

    def __str__(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self.servers)


def open_fabric(address: str, durability: Durability = "process") -> Fabric:
    """Raises a UsageError for an address that cannot be one."""
    if not is_broker(address):
        return FilesFabric(Path(address.removeprefix("files:")), durability=durability)
    broker = parse(address)
    if durability == "power":
        raise UsageError(
            "only the files fabric can promise to survive a loss of power by itself; what RabbitMQ survives is decided "
            "by how many nodes hold a copy: leave the option out and run three nodes or more"
        )
    # Only here: whoever works with files does without the library.
    from cauce.fabric.rabbitmq import RabbitFabric

    return RabbitFabric(broker)


def is_broker(address: str) -> bool:
    return address.partition("://")[0] in _SCHEMES and "://" in address


def shown(address: str) -> str:
    """The address for people, without the password."""
    return _SECRET.sub(r"\1:***@", address)


def parse(address: str) -> Broker:
    scheme, _, rest = address.partition("://")
    if scheme not in _SCHEMES:
        raise _wrong(address, "it must begin with amqp:// or amqps://")
    rest, _, query = rest.partition("?")
    access, _, places = rest.rpartition("@")
    user, _, password = access.partition(":")
    near, _, path = places.partition("/")
    vhost, *far = path.split(",")
    servers = tuple(_server(address, each, _SCHEMES[scheme]) for each in (*near.split(","), *far))
    options = _options(address, query, scheme)
    tls = Tls(**{name: options.get(name) for name in _TLS_OPTIONS}) if scheme == "amqps" else None
    names = {} if not access else {"user": unquote(user), "password": unquote(password)}
    return Broker(servers, vhost=unquote(vhost) or "/", namespace=options.get("namespace", "cauce"), tls=tls, **names)


def _server(address: str, place: str, port: int) -> tuple[str, int]:
    found = _SERVER.fullmatch(place)
    if found is None or not 0 < int(found["port"] or port) < 65536:
        raise _wrong(address, f"{place!r} is not a host and a port from 1 to 65535")
    return found["host"].strip("[]"), int(found["port"] or port)


def _options(address: str, query: str, scheme: str) -> dict[str, str]:
    allowed = ("namespace", *(_TLS_OPTIONS if scheme == "amqps" else ()))
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in allowed:
            raise _wrong(address, f"unknown option {name!r}, expected one of {', '.join(allowed)}")
    if not _NAMESPACE.fullmatch(options.get("namespace", "cauce")):
        raise _wrong(address, "the namespace must be 1 to 60 letters, digits, hyphens or underscores")
    if ("keyfile" in options) and ("certfile" not in options):
        raise _wrong(address, "keyfile needs a certfile too")
    return options


def _wrong(address: str, why: str) -> UsageError:
    return UsageError(
        f"invalid RabbitMQ address {shown(address)!r}: {why}; write it as "
        "amqp://user:password@host:port/vhost[,host:port…][?namespace=NAME]"
    )
