"""Metrics of all jobs of a service, for monitoring. A pure function of their read models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cauce.api.jobs import ENDED, State
from cauce.gateway.jobs.read_model import JobView


@dataclass
class Figures:
    """`rows` and `rejects` count all stored jobs; the bytes count open jobs."""

    states: Counter[State] = field(default_factory=Counter)
    rows: int = 0
    rejects: int = 0
    held_bytes: int = 0
    waiting_bytes: int = 0


def figures_of(views: Iterable[JobView]) -> Figures:
    found = Figures()
    for view in views:
        found.states[view.state] += 1
        found.rows += sum(reports.rows for reports in view.reports.values())
        found.rejects += sum(reports.rejected for reports in view.reports.values())
        if view.state not in ENDED:
            found.held_bytes += view.held_bytes
            found.waiting_bytes += view.backlog_bytes()
    return found
