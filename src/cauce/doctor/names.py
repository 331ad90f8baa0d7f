"""What processes are called: `worker-3`, or `worker-3@b` where several hosts take part. Names never carry meaning for
the data: any worker may do any work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, get_args

from cauce.errors import UsageError

Role = Literal["doctor", "gateway", "worker"]
ROLES: tuple[Role, ...] = get_args(Role)

_NAME = re.compile(r"(doctor|gateway|worker)-([1-9][0-9]{0,4})(?:@([a-z0-9][a-z0-9-]{0,30}))?")
_HOST = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


def name_of(role: Role, number: int, host: str = "") -> str:
    return f"{role}-{number}@{host}" if host else f"{role}-{number}"


@lru_cache(maxsize=4096)
def order_of(name: str) -> tuple[Role, int, str]:
    """Role, number and host: what names are sorted by. A later doctor is the higher one in elections."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(f"{name[:80]!r} is no process of a cluster: they are called worker-1, gateway-2 or doctor-3@b")
    role: Role = found[1]  # type: ignore[assignment]
    return role, int(found[2]), found[3] or ""


def role_of(name: str) -> Role:
    return order_of(name)[0]


def host_of(name: str) -> str:
    """Where the process belongs; in a time of need it may run elsewhere."""
    return order_of(name)[2]


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def check_host(label: str) -> str:
    if label and not _HOST.fullmatch(label):
        raise UsageError(f"{label[:80]!r} cannot be a host's label: use up to 31 small letters, digits and hyphens")
    return label


def in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=order_of)
