"""Process names: `worker-3`, or `worker-3@b` in a cluster of several hosts. Data placement must never depend on a name:
any worker may run any task."""

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
    """Sort key of a name: role, number, host. The doctor that sorts last has the highest rank in elections."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(f"invalid process name {name[:80]!r}; expected a name like worker-1, gateway-2 or doctor-3@b")
    role: Role = found[1]  # type: ignore[assignment]
    return role, int(found[2]), found[3] or ""


def role_of(name: str) -> Role:
    return order_of(name)[0]


def host_of(name: str) -> str:
    """The home host of the process. A worker may run on another host while its own is unreachable."""
    return order_of(name)[2]


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def check_host(label: str) -> str:
    if label and not _HOST.fullmatch(label):
        raise UsageError(f"invalid host label {label[:80]!r}; expected up to 31 lowercase letters, digits and hyphens")
    return label


def in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=order_of)
