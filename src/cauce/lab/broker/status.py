"""Status of the nodes of a folder: which run, which answer, which form the cluster. Changes nothing."""

from __future__ import annotations

import msgspec

from cauce.errors import BrokerFailed
from cauce.lab.broker.nodes import Nodes


class NodeStatus(msgspec.Struct, frozen=True):
    name: str
    host: str
    port: int
    distribution_port: int
    pid: int | None
    answers: bool
    """Whether AMQP answers: not while the node starts, is paused, or is in a minority."""

    @property
    def description(self) -> str:
        if self.pid is None:
            return "not running"
        return f"pid {self.pid}, answers" if self.answers else f"pid {self.pid}, does not answer"


class Status(msgspec.Struct, frozen=True):
    folder: str
    address: str
    nodes: tuple[NodeStatus, ...]
    epmd_port: int
    epmd_pid: int | None
    members: tuple[str, ...] | None
    """Names of the nodes that are up, as the cluster reports them; None if no node answered."""

    @property
    def whole(self) -> bool:
        return all(node.answers for node in self.nodes) and len(self.members or ()) == len(self.nodes)


class _Cluster(msgspec.Struct):
    running_nodes: list[str]


def status(nodes: Nodes) -> Status:
    seen = tuple(
        NodeStatus(
            node.name, node.host, node.port, node.distribution_port, nodes.pid(node.name), nodes.answers(node.name)
        )
        for node in nodes.layout.nodes
    )
    layout, folder = nodes.layout, str(nodes.place.folder)
    return Status(folder, nodes.address, seen, layout.epmd_port, nodes.epmd_pid(), _members(nodes, seen))


def _members(nodes: Nodes, seen: tuple[NodeStatus, ...]) -> tuple[str, ...] | None:
    for node in seen:
        if node.answers:
            try:
                printed = nodes.ctl(node.name, "cluster_status", "--formatter", "json")
            except BrokerFailed:
                continue
            names = msgspec.json.decode(printed, type=_Cluster).running_nodes
            return tuple(sorted(name.partition("@")[0] for name in names))
    return None
