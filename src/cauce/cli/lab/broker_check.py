"""`cauce broker check`: compares the settings of a broker, read over AMQP and from its nodes, with those that Cauce
requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.cli.lab.broker import nodes_in
from cauce.errors import BrokerFailed, UsageError
from cauce.fabric.address import parse
from cauce.fabric.private_namespace import namespace_of
from cauce.fabric.rabbitmq.capability_probe import probe_broker, sample_names
from cauce.fabric.rabbitmq.settings.finding import NEEDS_AMQP, NEEDS_NODE, Finding
from cauce.fabric.rabbitmq.settings.findings import findings
from cauce.lab.broker.cluster_facts import Eval, read_cluster_facts
from cauce.lab.broker.control import evaluate_on
from cauce.lab.broker.nodes import Nodes
from cauce.terminal.invocation import command

if TYPE_CHECKING:
    from cauce.fabric.rabbitmq.settings.facts import ClusterFacts

HEADS = ("setting", "expected", "found", "verdict", "how to set it")
HOW_TO_SEE = {
    NEEDS_NODE: "give --node rabbit@HOST on a machine with the broker's Erlang cookie, or --dir for private nodes",
    NEEDS_AMQP: "set CAUCE_FABRIC to the address that the service uses",
}


class Checked(msgspec.Struct, frozen=True):
    wrong: int
    not_seen: int
    settings: list[Finding]


@dataclass(frozen=True)
class Asked:
    """The sources of a check: AMQP, a node, or both."""

    address: str
    evaluate: Eval | None

    def check(self) -> Checked:
        # Parse before any connection is opened, so that an invalid address is reported at once.
        broker = parse(self.address) if self.address else None
        vhost, namespace = (broker.vhost, broker.namespace) if broker is not None else ("/", "cauce")
        cluster: ClusterFacts | None = None
        if self.evaluate is not None:
            samples = [*sample_names(namespace), *sample_names(namespace_of(namespace, "run-sample"))]
            cluster = read_cluster_facts(self.evaluate, vhost, namespace, samples)
        found = findings(probe_broker(broker) if broker is not None else None, cluster)
        counted = [each.verdict for each in found]
        return Checked(counted.count("wrong"), counted.count("not seen"), found)


def asked_of(fabric: str, folder: Path | None, node: str) -> Asked:
    if folder is None:
        if not fabric and not node:
            raise UsageError("nothing to check; set CAUCE_FABRIC, or give --node rabbit@HOST or --dir of private nodes")
        return Asked(fabric, partial(evaluate_on, node) if node else None)
    nodes = nodes_in(folder)
    return Asked(fabric or nodes.address, partial(nodes.ctl, _responding_node(nodes, node), "eval"))


def _responding_node(nodes: Nodes, node: str) -> str:
    """Returns the name of a node that responds. Any one will do: it reports on the whole cluster."""
    if node:
        return nodes.node(node.partition("@")[0]).name
    for name in nodes.names:
        if nodes.answers(name):
            return name
    raise BrokerFailed(
        f"no node in {nodes.place.folder} answers; start them with: "
        f"{command('broker', 'start', '--dir', str(nodes.place.folder))}"
    )


def lines_of(checked: Checked) -> list[str]:
    """Formats the findings as a table, followed by hints for the settings that were not checked."""
    rows = [HEADS, *((each.setting, each.wanted, each.found, each.verdict, each.write) for each in checked.settings)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [
        *table,
        "",
        f"{checked.wrong or 'no'} wrong setting{'s' * (checked.wrong != 1)}",
        *_unchecked(checked.settings),
    ]


def _unchecked(found: Sequence[Finding]) -> list[str]:
    unseen = [each.write for each in found if each.verdict == "not seen"]
    return [f"{unseen.count(need)} not checked: {how}" for need, how in HOW_TO_SEE.items() if need in unseen]
