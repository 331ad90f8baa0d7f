"""Who may use the service: names and hashes of their tokens in one small file. A token itself is never kept."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cauce.errors import UnknownName, UsageError
from cauce.gateway.errors import BadRequest
from cauce.gateway.names import LOCAL, check_owner

FILE = "tokens.json"
PREFIX = "cauce_"
_TOKEN = re.compile(PREFIX + r"[A-Za-z0-9_-]{40,100}")
_SECRET_BYTES = 32


class Entry(msgspec.Struct, frozen=True):
    sha256: str
    created: float


def _check_name(name: str) -> None:
    if name == LOCAL:
        raise UsageError(f"{LOCAL!r} is the name of those without a token; choose another")
    try:
        check_owner(name)
    except BadRequest as problem:
        raise UsageError(str(problem)) from None


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def read_tokens(path: Path) -> dict[str, Entry]:
    """The entries of a file; none if there is no such file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Entry])
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError as problem:
        raise UsageError(
            f"{path} is no file of tokens ({problem}): restore it, or remove it and make new ones"
        ) from None


def create_token(path: Path, name: str) -> str:
    """A new token, to be told once to its owner."""
    _check_name(name)
    token = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    with _changing(path) as entries:
        if name in entries:
            raise UsageError(f"there is a token of the name {name}: remove it first, or choose another name")
        entries[name] = Entry(hash_of(token), time.time())
    return token


def remove_token(path: Path, name: str) -> None:
    with _changing(path) as entries:
        if name not in entries:
            raise UnknownName(f"there is no token of the name {name} in {path}; see `cauce token list`")
        del entries[name]


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, Entry]]:
    """The entries, to be changed by one process at a time; whoever reads sees the file before or after, never
    between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = read_tokens(path)
        yield entries
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(entries)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        os.close(lock)


class Tokens:
    """The tokens of a file as it stands now: one that was removed opens nothing from then on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: dict[str, Entry] = {}

    def owner(self, token: str) -> str | None:
        """Whose token it is. Raises ``UsageError`` if the file cannot be read: nobody gets in then."""
        self._refresh()
        if not _TOKEN.fullmatch(token):
            return None
        hashed = hash_of(token)
        found = None
        # All are compared, and each in full: the time it takes tells nothing.
        for name, entry in self._entries.items():
            if hmac.compare_digest(entry.sha256, hashed):
                found = name
        return found

    def _refresh(self) -> None:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._entries = None, {}
            return
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            self._entries = {}
            self._entries = read_tokens(self._path)
            self._seen = seen
