"""`cauce chaos broker`: injects faults into private broker nodes and checks what a stream kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import astuple, fields

from cauce.cli.lab.broker import nodes_in
from cauce.cli.lab.chaos import BrokerChaosOptions
from cauce.errors import JobFailed, UsageError
from cauce.lab.broker.hosts import nodes_on_hosts, problem
from cauce.lab.broker.nodes import Nodes
from cauce.lab.chaos.stream_checker import Verdict
from cauce.lab.chaos.stream_trial import FAULTS, NETWORK_FAULTS, Fault, Outcome, network_faults, trial
from cauce.terminal.console import print_line

HEADS = ("fault", "times", "stalled s", *(each.name for each in fields(Verdict)))
KNOWN = (*FAULTS, *NETWORK_FAULTS)
WIDTHS = (max(map(len, KNOWN)), *map(len, HEADS[1:]))
HOSTS = "hosts"
"""The directory of the nodes on hosts of their own, in that of the other nodes."""


def play_broker(options: BrokerChaosOptions) -> None:
    chosen = [each.strip() for each in options.faults.split(",")]
    for each in chosen:
        if each not in KNOWN:
            raise UsageError(f"unknown fault {each} of --faults; expected one of {', '.join(KNOWN)}")
    nodes = nodes_in(options.broker, "--nodes", "3")
    if any(each in NETWORK_FAULTS for each in chosen) and (unable := problem()) is not None:
        raise UsageError(f"{unable}; choose other --faults than {' and '.join(NETWORK_FAULTS)}")
    print_line(_line(HEADS))
    outcomes = []
    for fault in chosen:
        outcomes.append(_on_hosts(nodes, fault, options) if fault in NETWORK_FAULTS else _here(nodes, fault, options))
        print_line(_row(outcomes[-1]))
    wrong = [each.fault for each in outcomes if not each.verdict.is_exact]
    if wrong:
        raise JobFailed(f"the stream lost, reordered or invented records under: {', '.join(wrong)}")
    print_line("Every confirmed record is in the stream, in the order of its writer, and no other record is.")


def _here(nodes: Nodes, fault: str, options: BrokerChaosOptions) -> Outcome:
    nodes.start()
    return _trial(nodes, FAULTS[fault], options)


def _on_hosts(nodes: Nodes, fault: str, options: BrokerChaosOptions) -> Outcome:
    """On other nodes of the same version, which are removed afterwards."""
    version = nodes.place.version_of(nodes.layout.nodes[0])
    folder = nodes.place.folder / HOSTS
    try:
        with nodes_on_hosts(folder, len(nodes.names), version) as (network, hosted):
            return _trial(hosted, network_faults(network)[fault], options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _trial(nodes: Nodes, fault: Fault, options: BrokerChaosOptions) -> Outcome:
    return trial(nodes, fault, options.seconds, options.writers, options.readers, options.seed)


def _row(outcome: Outcome) -> str:
    cells = (outcome.fault, outcome.times, f"{outcome.stalled_s:.1f}", *astuple(outcome.verdict))
    return _line(cells)


def _line(cells: Iterable[object]) -> str:
    return "  ".join(str(cell).ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
