"""Facts about a broker: those visible to every AMQP client, and those that nodes report with their Erlang cookie."""

from __future__ import annotations

import msgspec


class Tuning(msgspec.Struct, frozen=True):
    """Connection parameters that a server offers to a client."""

    product: str
    version: str
    frame_max: int
    """0 means unlimited."""
    heartbeat_s: int
    """0 means no heartbeat."""


class Rights(msgspec.Struct, frozen=True):
    """Permissions of the user on names like ours. None where the probe could not run."""

    configure: bool | None = None
    write: bool | None = None
    read: bool | None = None


class AmqpFacts(msgspec.Struct, frozen=True):
    user: str
    vhost: str
    servers: dict[str, Tuning | None]
    """The servers of the address; None for one that does not answer."""
    rights: Rights
    kinds: dict[str, str | None]
    """By queue type (`stream`, `quorum`), the broker's error, or None; empty if the probe could not run."""
    blocked: str | None = None
    """Why the broker blocks publishing now."""


class NodeFacts(msgspec.Struct, frozen=True):
    """A field is None if the node does not report it or has no such setting."""

    name: str
    reached: bool = True
    partition_handling: str | None = None
    tick_s: int | None = None
    leader_locator: str | None = None
    consumer_timeout_ms: int | None = None
    """None means no timeout."""
    heartbeat_s: int | None = None
    frame_max: int | None = None
    memory_limit: int | None = None
    memory_total: int | None = None
    disk_limit: int | None = None
    file_level: str | None = None
    connection_level: str | None = None
    descriptors: int | None = None
    partitions: list[str] = []
    coordinates_streams: bool | None = None
    """Whether it has a member of the stream coordinator. No node has one before the first stream."""


class Policy(msgspec.Struct, frozen=True):
    name: str
    applies_to: str
    limits: dict[str, str]
    """All keys of its definition."""
    names: list[str]
    """Our names that its pattern matches."""
    priority: int = 0
    operator: bool = False


class ClusterFacts(msgspec.Struct, frozen=True):
    version: str
    members: list[str]
    nodes: list[NodeFacts]
    """The running nodes."""
    alarms: list[str] = []
    policies: list[Policy] = []
