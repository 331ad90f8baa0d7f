"""Amounts of memory and disk, as people and as each platform write them."""

from __future__ import annotations

import re

from cauce.errors import UsageError

KI, MI, GI = 1 << 10, 1 << 20, 1 << 30
UNITS = {"Ki": KI, "Mi": MI, "Gi": GI, "Ti": 1 << 40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"([1-9][0-9]{0,14})([A-Za-z]{1,2})")


def bytes_of(text: str, option: str, least: int) -> int:
    """The size in bytes. Raises, with the option's name, for an invalid size or one below `least`."""
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in UNITS:
        raise UsageError(f"{option} {text} is not a size: write it as 512Mi, 20Gi or 20G")
    size = int(found[1]) * UNITS[found[2]]
    if size < least:
        raise UsageError(f"{option} {text} is too small: it must be at least {quantity(least)}")
    return size


def quantity(size: int) -> str:
    """As Kubernetes writes it."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def compose_bytes(size: int) -> str:
    """As Compose writes it; its units are powers of 1024."""
    return f"{size // MI}m" if size % MI == 0 else f"{size}b"
