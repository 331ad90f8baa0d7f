"""Finds policies of a broker that truncate our streams or queues. They lose data: a log is read from its start, and a
dropped task message is never run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cauce.fabric.rabbitmq.settings.facts import Policy

OF_STREAMS = frozenset({"max-length-bytes", "max-age"})
OF_QUEUES = frozenset({"max-length", "max-length-bytes", "message-ttl", "expires", "delivery-limit"})
_QUEUE = re.compile(r"[^.]+\.[^.]+\.lease\d*\..+")
"""Names of lease queues, which are quorum queues; all other names of ours are streams."""


@dataclass(frozen=True)
class Cut:
    """A policy, its limits, and an example of our names that it matches."""

    name: str
    operator: bool
    limits: dict[str, str]
    example: str


def cutting(policies: Sequence[Policy]) -> list[Cut]:
    """The policies in force on our names: for each name the one with the highest priority, and one operator policy
    beside it."""
    found: dict[tuple[bool, str], Cut] = {}
    for operator in (False, True):
        own = [policy for policy in policies if policy.operator is operator]
        for name in dict.fromkeys(name for policy in own for name in policy.names):
            cut = _cut(name, own)
            if cut is not None:
                found.setdefault((operator, cut.name), cut)
    return list(found.values())


def _cut(name: str, policies: Iterable[Policy]) -> Cut | None:
    is_queue = _QUEUE.fullmatch(name) is not None
    matching = [each for each in policies if name in each.names and _applies(each.applies_to, is_queue)]
    if not matching:
        return None
    ruling = max(matching, key=lambda each: each.priority)
    limits = {key: ruling.limits[key] for key in sorted(ruling.limits.keys() & (OF_QUEUES if is_queue else OF_STREAMS))}
    return Cut(ruling.name, ruling.operator, limits, name) if limits else None


def _applies(to: str, is_queue: bool) -> bool:
    return to in ("all", "queues", "quorum_queues" if is_queue else "streams")
