"""The token file: names of clients and hashes of their tokens. A token itself is never stored."""

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

from cauce.api.names import LOCAL, MOST_OWNER, check_owner
from cauce.errors import CorruptRecord, OtherVersion, UnknownName, UsageError
from cauce.fabric.versions import decode_json
from cauce.process.private_files import FILE_MODE, check_acting_user, make_directory, replace_file, sync_with_parents

FILE = "tokens.json"
PREFIX = "cauce_"
_TOKEN = re.compile(PREFIX + r"[A-Za-z0-9_-]{40,100}")
_SECRET_BYTES = 32
VERSION = 1
_OWNER_BYTES = 4


class Entry(msgspec.Struct, frozen=True):
    """`owner` is the owner id of the token's jobs. It is unique: a later token of the same name gets another id and
    does not see these jobs. Empty in files of older versions, where the name is the owner id."""

    sha256: str
    created: float
    owner: str = ""


class _TokenFile(msgspec.Struct, frozen=True):
    version: int
    tokens: dict[str, Entry]


def _check_name(name: str) -> None:
    if name == LOCAL:
        raise UsageError(f"the name {LOCAL!r} is reserved for clients without a token; choose another")
    check_owner(name)


def _new_owner(name: str) -> str:
    suffix = "-" + secrets.token_hex(_OWNER_BYTES)
    return name[: MOST_OWNER - len(suffix)] + suffix


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def read_tokens(path: Path) -> dict[str, Entry]:
    """The entries of a file; empty if the file does not exist."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        # Files of older versions have no version field, only the entries.
        return msgspec.json.decode(data, type=dict[str, Entry])
    except msgspec.MsgspecError:
        pass
    try:
        return decode_json(data, _TokenFile, VERSION, str(path)).tokens
    except (CorruptRecord, OtherVersion) as problem:
        raise UsageError(f"{problem}; restore the token file, or remove it and create new tokens") from None


def create_token(path: Path, name: str) -> str:
    """Creates a token. It is returned only here: the file stores its hash."""
    _check_name(name)
    token = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    with _changing(path) as entries:
        if name in entries:
            raise UsageError(f"a token named {name} already exists: remove it first, or choose another name")
        entries[name] = Entry(hash_of(token), time.time(), _new_owner(name))
    return token


def remove_token(path: Path, name: str) -> None:
    with _changing(path) as entries:
        if name not in entries:
            raise UnknownName(f"token {name} does not exist in {path}; see `cauce token list`")
        del entries[name]


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, Entry]]:
    """Yields the entries for a change under an exclusive lock. The file is replaced atomically."""
    folder = path.parent.resolve()
    check_acting_user(folder)
    make_directory(folder)
    sync_with_parents(folder)
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = read_tokens(path)
        yield entries
        content = msgspec.json.format(msgspec.json.encode(_TokenFile(VERSION, entries))) + b"\n"
        replace_file(path, content, durable=True)
    finally:
        os.close(lock)


class Tokens:
    """The tokens of a file, re-read when it changes: a removed token is rejected from then on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: dict[str, Entry] = {}

    def owner(self, token: str) -> str | None:
        """The owner of a token; None if unknown. Raises ``UsageError`` (no access) if the file cannot be read."""
        self._refresh()
        if not _TOKEN.fullmatch(token):
            return None
        hashed = hash_of(token)
        found = None
        # Compare with every hash in full, so that timing reveals nothing.
        for name, entry in self._entries.items():
            if hmac.compare_digest(entry.sha256, hashed):
                found = entry.owner or name
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
