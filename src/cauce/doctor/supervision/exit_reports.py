"""Exits to be recorded in the timeline: each waits briefly for its cause, and longer while there is no leader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cauce.doctor.model.actions import Action, RecordEvent
from cauce.doctor.model.messages import Cause
from cauce.doctor.model.process_table import Instance
from cauce.doctor.supervision.reconciler import Reconciler

REPORT_S = 0.3
"""How long to wait for the exit code, which only the parent process knows."""


@dataclass
class _PendingExit:
    instance: Instance
    cause: Cause
    since: float
    how: str
    after_s: float
    """Time between its last heartbeat and the detection."""


class PendingExits:
    """Pending exit reports of a doctor."""

    def __init__(self, reconciler: Reconciler, kept_s: float) -> None:
        self._reconciler = reconciler
        self._kept_s = kept_s
        self._exits: list[_PendingExit] = []
        self._held: list[RecordEvent] = []
        """Later events of a process whose exit waits for its cause: published after the exit."""

    def add(self, instance: Instance, cause: Cause, now: float, how: str) -> None:
        self._exits.append(_PendingExit(instance, cause, now, how, now - instance.last_heartbeat_at()))

    def add_cause(self, instance: Instance, cause: Cause) -> None:
        """Adds the cause to an exit that was reported without one."""
        for each in self._exits:
            if each.instance is instance and cause.known and not each.cause.known:
                each.cause = cause
                self._reconciler.apply_cause(instance, cause)

    def publish(self, now: float) -> list[Action]:
        """Events of exits that are due, with delayed restarts, whose cause is known here. Called on the leader."""
        ready = [each for each in self._exits if each.cause.known or now - each.since >= REPORT_S]
        self._exits = [each for each in self._exits if each not in ready]
        actions = [action for each in ready for action in self._events(each)]
        held, self._held = self._held, []
        return [*actions, *self.defer_events(held, now)]

    def defer_events(self, actions: Iterable[Action], now: float) -> list[Action]:
        """The actions, without events that must wait for an earlier exit of the same process."""
        waiting = {each.instance.name for each in self._exits}
        given: list[Action] = []
        for action in actions:
            if isinstance(action, RecordEvent) and action.name in waiting:
                self._held.append(action if action.at is not None else replace(action, at=now))
            else:
                given.append(action)
        return given

    def _events(self, report: _PendingExit) -> list[Action]:
        instance, history = report.instance, self._reconciler.processes.history(report.instance.name)
        if instance.termination.requested:
            return [
                RecordEvent("exited", instance.name, instance.generation, instance.termination.why, at=report.since)
            ]
        last, code = report.cause.last, report.cause.code
        crashed = RecordEvent(
            "crashed", instance.name, instance.generation, history.why, history.held, last, at=report.since, code=code
        )
        detected = RecordEvent(
            "detected", instance.name, instance.generation, report.how, after_s=report.after_s, at=report.since
        )
        return [crashed, detected, *self._reconciler.backoff_events(instance.name, report.since)]

    def drop(self, now: float) -> None:
        """Drops old exits: the leader has published them, or crashed before it could."""
        self._exits = [each for each in self._exits if now - each.since < self._kept_s]
