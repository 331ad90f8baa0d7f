"""What is known of a broker: what AMQP tells every client, and what its nodes tell to who has their cookie."""

from __future__ import annotations

import msgspec


class Tuning(msgspec.Struct, frozen=True):
    """What a server offers when a client connects."""

    product: str
    version: str
    frame_max: int
    """0 is any size."""
    heartbeat_s: int
    """0 is none."""


class Rights(msgspec.Struct, frozen=True):
    """Of the user, on names like ours. None where it could not be tried."""

    configure: bool | None = None
    write: bool | None = None
    read: bool | None = None


class AmqpFacts(msgspec.Struct, frozen=True):
    user: str
    vhost: str
    servers: dict[str, Tuning | None]
    """Those that the address names; None for one that does not answer."""
    rights: Rights
    kinds: dict[str, str | None]
    """`stream` and `quorum`, with what the broker said instead of making one; empty if none could be tried."""
    blocked: str | None = None
    """Why it takes no messages now."""


class NodeFacts(msgspec.Struct, frozen=True):
    """None is: the node does not say, or has no such setting."""

    name: str
    reached: bool = True
    partition_handling: str | None = None
    tick_s: int | None = None
    leader_locator: str | None = None
    consumer_timeout_ms: int | None = None
    """None is none."""
    heartbeat_s: int | None = None
    frame_max: int | None = None
    memory_limit: int | None = None
    memory_total: int | None = None
    disk_limit: int | None = None
    file_level: str | None = None
    connection_level: str | None = None
    descriptors: int | None = None
    partitions: list[str] = []


class Policy(msgspec.Struct, frozen=True):
    name: str
    applies_to: str
    limits: dict[str, str]
    """All that it says."""
    names: list[str]
    """Those of ours that its pattern matches."""
    priority: int = 0
    operator: bool = False


class ClusterFacts(msgspec.Struct, frozen=True):
    version: str
    members: list[str]
    nodes: list[NodeFacts]
    """Those that run."""
    alarms: list[str] = []
    policies: list[Policy] = []
