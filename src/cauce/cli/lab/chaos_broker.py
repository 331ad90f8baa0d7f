"""`cauce chaos broker`: injects faults into private broker nodes and checks what a stream kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, fields

from cauce.cli.lab.broker import nodes_in
from cauce.cli.lab.chaos import BrokerChaosOptions
from cauce.errors import JobFailed, UsageError
from cauce.lab.chaos.stream_checker import Verdict
from cauce.lab.chaos.stream_trial import FAULTS, Outcome, trial
from cauce.terminal.console import print_line

HEADS = ("fault", "times", "stalled s", *(each.name for each in fields(Verdict)))
WIDTHS = (max(map(len, FAULTS)), *map(len, HEADS[1:]))


def play_broker(options: BrokerChaosOptions) -> None:
    chosen = [each.strip() for each in options.faults.split(",")]
    for each in chosen:
        if each not in FAULTS:
            raise UsageError(f"unknown fault {each} of --faults; expected one of {', '.join(FAULTS)}")
    nodes = nodes_in(options.broker, "--nodes", "3")
    nodes.start()
    print_line(_line(HEADS))
    outcomes = []
    for fault in chosen:
        outcome = trial(nodes, fault, options.seconds, options.writers, options.readers, options.seed)
        print_line(_row(outcome))
        outcomes.append(outcome)
    wrong = [each.fault for each in outcomes if not each.verdict.is_exact]
    if wrong:
        raise JobFailed(f"the stream lost, reordered or invented records under: {', '.join(wrong)}")
    print_line("Every confirmed record is in the stream, in the order of its writer, and no other record is.")


def _row(outcome: Outcome) -> str:
    cells = (outcome.fault, outcome.times, f"{outcome.stalled_s:.1f}", *astuple(outcome.verdict))
    return _line(cells)


def _line(cells: Iterable[object]) -> str:
    return "  ".join(str(cell).ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
