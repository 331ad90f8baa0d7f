"""Parses fabric addresses. A password in an address is never shown.

files:PATH, PATH                                            folders and files of this machine
amqp://user:password@host:port/vhost[,host:port…]           a RabbitMQ cluster; all nodes share user and vhost
amqps://…?cafile=PATH&certfile=PATH&keyfile=PATH            the same over TLS
…?namespace=NAME                                            several services share a vhost, each with its name

Schemes are case-insensitive. Text with a scheme or an `@` is never treated as a path: a mistyped address must not
create a directory whose name contains a password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from cauce.errors import UsageError
from cauce.process.masking import masked_address

ADDRESS_FILE_VARIABLE = "CAUCE_FABRIC_FILE"
"""Environment variable that names a file with the address of the fabric."""
_SCHEMES = {"amqp": 5672, "amqps": 5671}
_TLS_OPTIONS = ("cafile", "certfile", "keyfile")
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]{1,60}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_FILES = re.compile(r"files:(?!//)(?=.)", re.IGNORECASE)
_NOT_A_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|.*@|.*://", re.DOTALL)
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ENCODE = (
    "in the user, the password and the vhost, @ must be replaced by %40, : by %3A, / by %2F, ? by %3F, # by %23 and "
    "% by %25"
)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@/?#]+)(?::(?P<port>\d{1,5}))?")


Server = tuple[str, int]
"""A host and its port."""


@dataclass(frozen=True)
class Tls:
    """PEM files. Without `cafile` the certificate authorities of the system apply."""

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None


@dataclass(frozen=True)
class Broker:
    """A RabbitMQ cluster, parsed from an address."""

    servers: tuple[Server, ...]
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    namespace: str = "cauce"
    tls: Tls | None = None

    def __str__(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self.servers)


def check(address: str) -> None:
    """Raises a UsageError for an invalid address. Nothing is opened or created."""
    if is_broker(address):
        parse(address)
    else:
        path_of(address)


def is_broker(address: str) -> bool:
    return _scheme_of(address) in _SCHEMES


def folder_of(address: str) -> Path | None:
    """The absolute path of the folder that holds a files fabric; None for a broker."""
    return None if is_broker(address) else path_of(address).resolve()


def private_paths(address: str) -> list[Path]:
    """Local paths that hold the fabric's data or the TLS key of a broker connection."""
    folder = folder_of(address)
    if folder is not None:
        return [folder]
    tls = parse(address).tls
    return [Path(tls.keyfile).resolve()] if tls is not None and tls.keyfile else []


def named_files(address: str) -> list[str]:
    """Certificate and key files named in the options of an address."""
    tls = parse(address).tls if is_broker(address) else None
    return [] if tls is None else [path for path in (tls.cafile, tls.certfile, tls.keyfile) if path]


def has_password(address: str) -> bool:
    return is_broker(address) and "@" in address


def shown(address: str) -> str:
    """The address for messages, without user and password."""
    return masked_address(address)


def _scheme_of(address: str) -> str:
    found = _SCHEME.match(address)
    return found[1].lower() if found is not None else ""


def path_of(address: str) -> Path:
    """The path of a files fabric. Raises a UsageError for any other address."""
    if (marked := _FILES.match(address)) is not None:
        return Path(address[marked.end() :])
    if not address or _NOT_A_PATH.match(address):
        raise UsageError(
            f"invalid fabric address {shown(address)!r}; expected amqp://user:password@host:port/vhost, "
            "amqps://… or files:PATH"
        )
    return Path(address)


def parse(address: str) -> Broker:
    scheme = _scheme_of(address)
    if scheme not in _SCHEMES:
        unknown = f"unknown scheme {scheme}; " if scheme else ""
        raise _wrong(address, f"{unknown}it must begin with amqp:// or amqps://")
    rest, _, query = address.partition("://")[2].partition("?")
    access, _, places = rest.rpartition("@")
    if ("@" in query and not access) or _LONE_PERCENT.search(access):
        raise _wrong(address, _ENCODE)
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
        # Without an `@` it may be a user and a password, which must not be shown.
        safe = place if "@" in address else place.partition(":")[0]
        raise _wrong(address, f"{safe!r} is not a host and a port from 1 to 65535")
    return found["host"].strip("[]"), int(found["port"] or port)


def _options(address: str, query: str, scheme: str) -> dict[str, str]:
    allowed = ("namespace", *(_TLS_OPTIONS if scheme == "amqps" else ()))
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if "@" in name:
            raise _wrong(address, _ENCODE)
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
