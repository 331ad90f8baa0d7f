"""Versions of stored structures. The version is checked before any other field is read.

A version is increased when a program that knows only the previous one could misread the structure.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from cauce.errors import CorruptRecord, OtherVersion

T = TypeVar("T")


def check_version(found: int, reads: int, what: str) -> None:
    """Raises OtherVersion unless this program reads the version; `what` names the structure and its location."""
    if found > reads:
        raise OtherVersion(
            f"{what} was written by a newer version of Cauce: it has version {found}, this program reads {reads}; "
            "use the version that wrote it, or a newer one"
        )
    if found < reads:
        raise OtherVersion(
            f"{what} was written by an older version of Cauce: it has version {found}, this program reads {reads}; "
            "use the version that wrote it"
        )


class _Versioned(msgspec.Struct, frozen=True):
    version: int = 1


def decode_json(data: bytes, kind: type[T], reads: int, what: str, *, oldest: int | None = None) -> T:
    """Decodes a stored JSON object with a field `version`, which must be the one that this program `reads`, or from
    `oldest` on. Raises OtherVersion or CorruptRecord. The version is decoded first, since another version may have
    other fields."""
    try:
        found = msgspec.json.decode(data, type=_Versioned).version
        if not (reads if oldest is None else oldest) <= found <= reads:
            check_version(found, reads, what)
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise CorruptRecord(f"{what} is damaged: {problem}") from None
