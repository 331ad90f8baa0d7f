"""The dashboard's files as served: media type, digest and gzip form of each.

Their URLs contain a digest of all files, so that browsers may cache them without limit.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SHELL = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_DIGITS = 16


@dataclass(frozen=True)
class Asset:
    media_type: str
    data: bytes
    packed: bytes
    """`data`, compressed by gzip."""
    etag: str


@dataclass(frozen=True)
class Assets:
    version: str
    shell: Asset
    files: Mapping[str, Asset]


@cache
def assets() -> Assets:
    """All files, read and compressed once per process."""
    read = {each.name: each.read_bytes() for each in files("cauce.gateway.dashboard.web").joinpath("static").iterdir()}
    version = _digest(b"".join(name.encode() + b"\0" + data for name, data in sorted(read.items())))
    made = {name: _asset(name, data) for name, data in sorted(read.items()) if name != SHELL}
    return Assets(version, _asset(SHELL, _shell(read[SHELL].decode(), version, list(made)).encode()), made)


def _shell(text: str, version: str, names: list[str]) -> str:
    """The page itself, with preload links for all modules, so that the browser fetches them in parallel."""
    modules = [name for name in names if name.endswith(".js")]
    preloads = "\n".join(f'<link rel="modulepreload" href="/assets/VERSION/{name}">' for name in modules)
    return text.replace("PRELOADS", preloads).replace("VERSION", version)


def _asset(name: str, data: bytes) -> Asset:
    media_type = TYPES[name[name.rindex(".") :]]
    return Asset(media_type, data, gzip.compress(data, 9, mtime=0), f'"{_digest(data)}"')


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
