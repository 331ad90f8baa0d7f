"""Checks of every broker setting that the fabric relies on: wanted value, found value, verdict, and the fix. Pure
functions of facts; no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cauce.fabric.rabbitmq.settings.facts import AmqpFacts, ClusterFacts, NodeFacts, Tuning
from cauce.fabric.rabbitmq.settings.finding import NEEDS_AMQP, Finding, finding_of
from cauce.fabric.rabbitmq.settings.findings_state import policies, states, usable
from cauce.fabric.rabbitmq.settings.required import (
    CONSUMER_TIMEOUT_MS,
    FRAME_MAX,
    HEARTBEAT_S,
    MEMORY_SHARE,
    NET_TICK_S,
    OLDEST,
    PER_QUEUE_TIMEOUT,
    TOO_NEW,
    WITHOUT_PARTITION_HANDLING,
)

SMALLEST_FRAME = 1 << 20
LONGEST_HEARTBEAT_S = 60
TICKS_S = range(5, 21)
LARGEST_SHARE = 0.7
LEAST_DISK = 500_000_000
LEAST_DESCRIPTORS = 16_384
SUPPORTED = f"{'.'.join(map(str, OLDEST))} to {TOO_NEW[0] - 1}.x"
FILE_LEVELS = ("debug", "info", "notice")


def findings(amqp: AmqpFacts | None, cluster: ClusterFacts | None) -> list[Finding]:
    """All findings, in the order of docs/operations.md."""
    reached = [node for node in cluster.nodes if node.reached] if cluster is not None else []
    version = _version(amqp, cluster)
    return [
        _version_finding(version),
        *_clustering(version, cluster, reached),
        _consumer_timeout(version, reached),
        heartbeat({**_offered(amqp, "heartbeat_s"), **_seen(reached, "heartbeat_s")}),
        frame_max({**_offered(amqp, "frame_max"), **_seen(reached, "frame_max")}),
        *_room(reached),
        *_logs(reached),
        *states(amqp, cluster, reached),
        *policies(cluster, amqp.vhost if amqp is not None else "/"),
        *usable(amqp),
    ]


def tuning_findings(tuning: Tuning) -> list[Finding]:
    """The problems in the parameters that a server offered on connect."""
    judged = (heartbeat({"": tuning.heartbeat_s}), frame_max({"": tuning.frame_max}))
    return [each for each in judged if each.verdict == "wrong"]


def heartbeat(seen: Mapping[str, int]) -> Finding:
    wanted = f"{HEARTBEAT_S} (1 to {LONGEST_HEARTBEAT_S})"
    write = f"rabbitmq.conf: heartbeat = {HEARTBEAT_S}"
    return finding_of("heartbeat", wanted, seen, lambda found: 1 <= found <= LONGEST_HEARTBEAT_S, write)


def frame_max(seen: Mapping[str, int]) -> Finding:
    wanted = f"{FRAME_MAX} ({SMALLEST_FRAME} or more)"
    write = f"rabbitmq.conf: frame_max = {FRAME_MAX} (smaller ones make reading slower)"
    return finding_of("frame_max", wanted, seen, lambda found: found == 0 or found >= SMALLEST_FRAME, write)


def _seen(nodes: Sequence[NodeFacts], name: str) -> dict[str, int]:
    return {node.name: value for node in nodes if (value := getattr(node, name)) is not None}


def _offered(amqp: AmqpFacts | None, name: str) -> dict[str, int]:
    servers = amqp.servers if amqp is not None else {}
    return {server: getattr(tuning, name) for server, tuning in servers.items() if tuning is not None}


def _version(amqp: AmqpFacts | None, cluster: ClusterFacts | None) -> str:
    if cluster is not None:
        return cluster.version
    tunings = amqp.servers.values() if amqp is not None else ()
    return next((tuning.version for tuning in tunings if tuning is not None), "")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def is_supported(version: tuple[int, ...]) -> bool:
    return OLDEST <= version < TOO_NEW


def _version_finding(version: str) -> Finding:
    seen = {"": version} if version else {}
    return finding_of(
        "version",
        SUPPORTED,
        seen,
        lambda found: is_supported(numbers(found)),
        "install RabbitMQ 4.3",
        needs=NEEDS_AMQP,
    )


def _clustering(version: str, cluster: ClusterFacts | None, nodes: Sequence[NodeFacts]) -> list[Finding]:
    """Any value is fine for a single node, which has no peers."""
    alone = cluster is not None and len(cluster.members) < 2
    settled = numbers(version) >= WITHOUT_PARTITION_HANDLING
    handling = {node.name: node.partition_handling or "none" for node in nodes}
    locators = {node.name: node.leader_locator or "none" for node in nodes}
    ticks = _seen(nodes, "tick_s")
    return [
        finding_of(
            "cluster_partition_handling",
            "any, from 4.3 on" if settled else _many("pause_minority", alone),
            handling,
            lambda found: alone or settled or found == "pause_minority",
            "rabbitmq.conf: cluster_partition_handling = pause_minority",
        ),
        finding_of(
            "net_ticktime",
            _many(f"{NET_TICK_S} ({TICKS_S[0]} to {TICKS_S[-1]})", alone),
            ticks,
            lambda found: alone or found in TICKS_S,
            f"rabbitmq.conf: net_ticktime = {NET_TICK_S}",
        ),
        finding_of(
            "queue_leader_locator",
            _many("balanced", alone),
            locators,
            lambda found: alone or found == "balanced",
            "rabbitmq.conf: queue_leader_locator = balanced",
        ),
    ]


def _many(wanted: str, alone: bool) -> str:
    return f"{wanted}, in a cluster" if alone else wanted


def _consumer_timeout(version: str, nodes: Sequence[NodeFacts]) -> Finding:
    per_queue = numbers(version) >= PER_QUEUE_TIMEOUT
    # Known to be fine without a query to a node: our queues override the setting.
    seen = {node.name: node.consumer_timeout_ms for node in nodes}
    if per_queue and not seen:
        return Finding("consumer_timeout", "any, from 3.12 on", "", "ok")
    return finding_of(
        "consumer_timeout",
        "any, from 3.12 on" if per_queue else f"{CONSUMER_TIMEOUT_MS} or more",
        seen,
        lambda found: per_queue or found is None or found >= CONSUMER_TIMEOUT_MS,
        f"rabbitmq.conf: consumer_timeout = {CONSUMER_TIMEOUT_MS}",
        lambda found: "none" if found is None else str(found),
    )


def _room(nodes: Sequence[NodeFacts]) -> list[Finding]:
    shares = {
        node.name: round(node.memory_limit / node.memory_total, 2)
        for node in nodes
        if node.memory_limit is not None and node.memory_total
    }
    return [
        finding_of(
            "vm_memory_high_watermark",
            f"{MEMORY_SHARE} (up to {LARGEST_SHARE})",
            shares,
            lambda found: 0 < found <= LARGEST_SHARE,
            f"rabbitmq.conf: vm_memory_high_watermark.relative = {MEMORY_SHARE}",
            lambda found: f"{found:.2f}",
        ),
        finding_of(
            "disk_free_limit",
            "512MB or more",
            _seen(nodes, "disk_limit"),
            lambda found: found >= LEAST_DISK,
            "rabbitmq.conf: disk_free_limit.absolute = 512MB, several GB on a server",
            _megabytes,
        ),
        finding_of(
            "descriptors",
            f"65536 ({LEAST_DESCRIPTORS} or more)",
            _seen(nodes, "descriptors"),
            lambda found: found >= LEAST_DESCRIPTORS,
            "the node's unit: LimitNOFILE=65536; or ulimit -n 65536 before it starts",
        ),
    ]


def _megabytes(amount: int) -> str:
    return f"{amount / 1e6:.0f}MB"


def _logs(nodes: Sequence[NodeFacts]) -> list[Finding]:
    return [
        finding_of(
            "log.file.level",
            "info",
            {node.name: node.file_level or "info" for node in nodes},
            lambda found: found in FILE_LEVELS,
            "rabbitmq.conf: log.file.level = info",
        ),
        finding_of(
            "log.connection.level",
            "warning (not debug)",
            {node.name: node.connection_level or "info" for node in nodes},
            lambda found: found != "debug",
            "rabbitmq.conf: log.connection.level = warning",
        ),
    ]
