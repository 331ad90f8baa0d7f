"""The result of checking one broker setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec

T = TypeVar("T")
Verdict = Literal["ok", "wrong", "not seen"]

NEEDS_NODE = "needs --node or --dir"
NEEDS_AMQP = "needs --fabric"


class Finding(msgspec.Struct, frozen=True):
    setting: str
    wanted: str
    found: str
    verdict: Verdict
    write: str = ""
    """How to fix the setting, or how to make it visible to the check."""


def finding_of(
    setting: str,
    wanted: str,
    seen: Mapping[str, T],
    good: Callable[[T], bool],
    write: str,
    shown: Callable[[T], str] = str,
    needs: str = NEEDS_NODE,
) -> Finding:
    """One finding for all nodes; where their values differ, each value with the node's name."""
    if not seen:
        return Finding(setting, wanted, "", "not seen", needs)
    values = {node: shown(value) for node, value in seen.items()}
    found = ", ".join(sorted(set(values.values())))
    if len(set(values.values())) > 1:
        found = ", ".join(f"{value} ({node})" for node, value in values.items())
    right = all(map(good, seen.values()))
    return Finding(setting, wanted, found, "ok" if right else "wrong", "" if right else write)
