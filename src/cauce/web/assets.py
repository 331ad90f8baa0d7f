"""The dashboard's files as they are served: each with its type, a digest, and a compressed form.

Their addresses hold a digest of them all, so that a browser may keep them for ever.
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
    """The same, compressed by gzip."""
    etag: str


@dataclass(frozen=True)
class Assets:
    version: str
    shell: Asset
    files: Mapping[str, Asset]


@cache
def assets() -> Assets:
    """All of them, read and compressed once in a process."""
    read = {each.name: each.read_bytes() for each in files("cauce.web").joinpath("static").iterdir()}
    version = _digest(b"".join(name.encode() + b"\0" + data for name, data in sorted(read.items())))
    made = {name: _asset(name, data) for name, data in sorted(read.items()) if name != SHELL}
    return Assets(version, _asset(SHELL, _shell(read[SHELL].decode(), version, list(made)).encode()), made)


def _shell(text: str, version: str, names: list[str]) -> str:
    """The page itself. All modules are named in it, so that the browser need not find them one after the other."""
    modules = [name for name in names if name.endswith(".js")]
    preloads = "\n".join(f'<link rel="modulepreload" href="/assets/VERSION/{name}">' for name in modules)
    return text.replace("PRELOADS", preloads).replace("VERSION", version)


def _asset(name: str, data: bytes) -> Asset:
    media_type = TYPES[name[name.rindex(".") :]]
    return Asset(media_type, data, gzip.compress(data, 9, mtime=0), f'"{_digest(data)}"')


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
