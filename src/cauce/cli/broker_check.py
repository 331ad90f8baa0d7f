"""`cauce broker check`: whether a broker is set up as we rely on it, from what AMQP tells and what its nodes tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.broker.asking import Eval, ask
from cauce.broker.control import evaluate_on
from cauce.broker.finding import NEEDS_AMQP, NEEDS_NODE, Finding
from cauce.broker.findings import findings
from cauce.broker.nodes import Nodes, existing
from cauce.cli.invocation import command
from cauce.errors import BrokerFailed, UsageError
from cauce.fabric.address import parse
from cauce.fabric.private import namespace_of
from cauce.fabric.rabbitmq_trial import sample_names, try_out

if TYPE_CHECKING:
    from cauce.broker.facts import ClusterFacts

HEADS = ("setting", "expected", "found", "verdict", "how to set it")
HOW_TO_SEE = {
    NEEDS_NODE: "give --node rabbit@HOST on a machine with the broker's Erlang cookie, or --dir for private nodes",
    NEEDS_AMQP: "give the address that the service uses with --fabric",
}


class Checked(msgspec.Struct, frozen=True):
    wrong: int
    not_seen: int
    settings: list[Finding]


@dataclass(frozen=True)
class Asked:
    """Whom to ask: over AMQP, through a node, or both."""

    address: str
    evaluate: Eval | None

    def check(self) -> Checked:
        # First what needs no connection: wrong names are told at once.
        broker = parse(self.address) if self.address else None
        vhost, namespace = (broker.vhost, broker.namespace) if broker is not None else ("/", "cauce")
        cluster: ClusterFacts | None = None
        if self.evaluate is not None:
            samples = [*sample_names(namespace), *sample_names(namespace_of(namespace, "run-sample"))]
            cluster = ask(self.evaluate, vhost, namespace, samples)
        found = findings(try_out(broker) if broker is not None else None, cluster)
        counted = [each.verdict for each in found]
        return Checked(counted.count("wrong"), counted.count("not seen"), found)


def asked_of(fabric: str, folder: Path | None, node: str) -> Asked:
    if folder is None:
        if not fabric and not node:
            raise UsageError("nothing to check; give --fabric amqp://…, --node rabbit@HOST, or --dir of private nodes")
        return Asked(fabric, partial(evaluate_on, node) if node else None)
    nodes = existing(folder)
    if nodes is None:
        raise UsageError(f"no nodes in {folder}; start some with: {command('broker', 'start', '--dir', str(folder))}")
    return Asked(fabric or nodes.address, partial(nodes.ctl, _answering(nodes, node), "eval"))


def _answering(nodes: Nodes, node: str) -> str:
    """One that can be asked: it knows of the others."""
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
    """The table, and what is left to be seen."""
    rows = [HEADS, *((each.setting, each.wanted, each.found, each.verdict, each.write) for each in checked.settings)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*table, "", f"{checked.wrong or 'no'} wrong setting{'s' * (checked.wrong != 1)}", *_left(checked.settings)]


def _left(found: Sequence[Finding]) -> list[str]:
    unseen = [each.write for each in found if each.verdict == "not seen"]
    return [f"{unseen.count(need)} not checked: {how}" for need, how in HOW_TO_SEE.items() if need in unseen]
