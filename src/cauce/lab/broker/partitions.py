"""Finds nodes that stay partitioned from the others after a fault, and restarts them. Never touches nodes that see a
majority."""

from __future__ import annotations

from typing import Any

import msgspec

from cauce.lab.broker.nodes import Nodes


def restart_partitioned(nodes: Nodes) -> None:
    """Restarts running nodes that continue although they are in a minority, as operators have to: until then such a
    node keeps its own metadata, and lists streams and queues that were deleted meanwhile."""
    for name in nodes.names:
        if nodes.pid(name) is not None and nodes.answers(name) and is_apart(nodes, name):
            nodes.kill(name)
            nodes.start_again(name)


def is_apart(nodes: Nodes, name: str) -> bool:
    """Whether a node continues although it is in a minority: one that was paused for longer than the others wait may
    not detect it. It has to be restarted."""
    seen = msgspec.json.decode(nodes.ctl(name, "cluster_status", "--formatter", "json"), type=dict[str, Any])
    return len(seen["running_nodes"]) <= len(nodes.names) // 2
