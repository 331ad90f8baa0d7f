"""Checks of a broker's current state: nodes, alarms, policies, and the user's permissions. Pure functions of facts; no
I/O."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from cauce.fabric.rabbitmq.settings.facts import AmqpFacts, ClusterFacts, NodeFacts
from cauce.fabric.rabbitmq.settings.finding import NEEDS_AMQP, NEEDS_NODE, Finding, finding_of
from cauce.fabric.rabbitmq.settings.policies import Cut, cutting


def states(amqp: AmqpFacts | None, cluster: ClusterFacts | None, nodes: Sequence[NodeFacts]) -> list[Finding]:
    return [
        _running(cluster, nodes),
        finding_of(
            "partitions",
            "none",
            {node.name: ", ".join(node.partitions) or "none" for node in nodes},
            lambda found: found == "none",
            "restart the nodes that were cut off",
        ),
        _stream_coordinator(nodes),
        _alarms(amqp, cluster),
        *_servers(amqp),
    ]


def _running(cluster: ClusterFacts | None, nodes: Sequence[NodeFacts]) -> Finding:
    counted = {} if cluster is None else {"": (len(nodes), len(cluster.members))}
    missing = [] if cluster is None else sorted(set(cluster.members) - {node.name for node in nodes})
    return finding_of(
        "running nodes",
        "all",
        counted,
        lambda found: found[0] >= found[1],
        f"start {', '.join(missing)}, or rabbitmqctl forget_cluster_node",
        lambda found: f"{found[0]} of {found[1]}",
    )


def _stream_coordinator(nodes: Sequence[NodeFacts]) -> Finding:
    """A node that is killed right after the very first stream was declared may have lost its member for good. With a
    majority of members lost, no append is confirmed."""
    has = {node.name: node.coordinates_streams for node in nodes if node.coordinates_streams is not None}
    used = any(has.values())
    return finding_of(
        "stream coordinator",
        "on all nodes",
        has,
        lambda found: found or not used,
        "reset the node without it and let it join again; if most lack it, create a new cluster",
        lambda found: "yes" if found else "no",
    )


def _alarms(amqp: AmqpFacts | None, cluster: ClusterFacts | None) -> Finding:
    """Over AMQP an alarm is visible as a blocked connection; only a node can report that there is none."""
    blocked = [amqp.blocked] if amqp is not None and amqp.blocked else []
    alarms = blocked if cluster is None else cluster.alarms or blocked
    seen = {} if cluster is None and not blocked else {"": ", ".join(alarms) or "none"}
    write = "give the node more memory or disk space: publishing is blocked until then"
    return finding_of("alarms", "none", seen, lambda found: found == "none", write)


def _servers(amqp: AmqpFacts | None) -> list[Finding]:
    """One finding per server of the address that does not answer."""
    silent = [server for server, tuning in amqp.servers.items() if tuning is None] if amqp is not None else []
    return [
        Finding(f"server {server}", "answers", "does not answer", "wrong", "start it, or take it out of the address")
        for server in silent
    ]


def policies(cluster: ClusterFacts | None, vhost: str) -> list[Finding]:
    wanted = "none that limits ours"
    if cluster is None:
        return [Finding("policies", wanted, "", "not seen", NEEDS_NODE)]
    cuts = cutting(cluster.policies)
    return [_policy(each, wanted, vhost) for each in cuts] or [Finding("policies", wanted, "none", "ok")]


def _policy(cut: Cut, wanted: str, vhost: str) -> Finding:
    kind, clear = ("operator policy", "clear_operator_policy") if cut.operator else ("policy", "clear_policy")
    found = f"{', '.join(f'{key} = {value}' for key, value in cut.limits.items())} on {cut.example}"
    command = shlex.join(["rabbitmqctl", clear, "-p", vhost, cut.name])
    write = f"{command}, or change its pattern so that it does not match our names"
    return Finding(f"{kind} {cut.name}", wanted, found, "wrong", write)


def usable(amqp: AmqpFacts | None) -> list[Finding]:
    return [*_kinds(amqp), *_rights(amqp)]


def _kinds(amqp: AmqpFacts | None) -> list[Finding]:
    tried = amqp.kinds if amqp is not None else {}
    write = "rabbitmqctl enable_feature_flag all"
    missing = NEEDS_AMQP if amqp is None else "needs the configure permission"
    return [
        finding_of(
            name,
            "can be made",
            {"": tried[kind]} if kind in tried else {},
            lambda found: found is None,
            write,
            lambda found: "made" if found is None else found,
            missing,
        )
        for kind, name in (("stream", "streams"), ("quorum", "quorum queues"))
    ]


def _rights(amqp: AmqpFacts | None) -> list[Finding]:
    made = []
    for right in ("configure", "write", "read"):
        given = getattr(amqp.rights, right) if amqp is not None else None
        user, vhost = (amqp.user, amqp.vhost) if amqp is not None else ("", "")
        made.append(
            finding_of(
                f"right to {right}",
                "yes",
                {} if given is None else {user: given},
                bool,
                shlex.join(["rabbitmqctl", "set_permissions", "-p", vhost, user, ".*", ".*", ".*"]),
                lambda found: "yes" if found else "no",
                NEEDS_AMQP if amqp is None else "the broker accepts no messages now",
            )
        )
    return made
