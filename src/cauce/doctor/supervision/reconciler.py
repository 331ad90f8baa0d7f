"""Reconciles desired and actual state on the leader: decides launches, terminations and the events to record.

It never starts a process that an operator stopped, and never starts a process on this host before the exit of its
previous instance is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from cauce.doctor.election.connectivity import Connectivity
from cauce.doctor.model.actions import Action, RecordEvent, Send, Signal, SignalKind, StartProcess
from cauce.doctor.model.desired_state import DesiredEntries, DesiredState
from cauce.doctor.model.exit_reasons import reason_of, restarting
from cauce.doctor.model.messages import Cause, Epoch, Generation, Kill, Launch
from cauce.doctor.model.names import host_of, role_of
from cauce.doctor.model.process_table import Instance, ProcessTable
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.health import Health, HealthState, assess
from cauce.worker.events import EXIT_FULL, EXIT_OLD, NO_WORK, Assignment

IMMEDIATE_RESTARTS = 2
"""Consecutive crashes that are followed by an immediate restart."""
FIRST_BACKOFF_S = 0.5
"""Backoff after the next crash; each further crash doubles it."""
MAX_DOUBLINGS = 30
MAX_WORK_BACKOFF_S = 1.0
"""Maximum backoff of a worker that crashed while it held work of a job: the worker itself is healthy, and workers fail
a job that keeps crashing them."""
MAX_LAST_WORKER_BACKOFF_S = 3.0
"""Maximum backoff of a worker while no other worker is ready: the service must not stay without workers for long."""
RESEND_LAUNCH_S = 0.5
STACK_DUMP_S = 0.5
"""Time for a hung process to write its stack dump before it is killed."""
RESEND_KILL_S = 1.0
SUPERSEDED_BACKOFF_S = 1.0
"""Delay before restarting a process that exited because of a newer instance that is not known here yet."""
SUPERSEDED_S = 3.0
"""How long a superseded instance may take to exit by itself."""


@dataclass
class Reconciler:
    """Compares the desired state with the process table. Every doctor has one; only the leader calls `reconcile`."""

    own_name: str
    host: str
    timing: Timing
    processes: ProcessTable
    desired: DesiredEntries
    connectivity: Connectivity
    launches: int = 0

    def reconcile(self, now: float, epoch: Epoch) -> list[Action]:
        """Actions that move the actual state to the desired state. Called on the leader."""
        desired = self.desired.state
        if not desired.known or not desired.running:
            return []
        actions: list[Action] = []
        for name in desired.names:
            if desired.should_run(name) and name != self.own_name:
                actions += self._reconcile_process(name, now, epoch)
        for each in list(self.processes.alive()):
            if not desired.should_run(each.name) and each.name != self.own_name and not _is_unmanaged(each):
                why = _stop_reason(desired, each.name)
                actions += self.terminate(each, now, epoch, "term", why, requested=True)
        for each in list(self.processes.superseded()):
            if now - self._superseded_since(each) > SUPERSEDED_S:
                actions += self.terminate(each, now, epoch, "kill", "superseded by a newer generation", requested=True)
        return actions

    def _superseded_since(self, instance: Instance) -> float:
        """The earliest time at which it could learn that it is superseded."""
        newest = self.processes.newest(instance.name) or instance
        return max(instance.started_at, newest.started_at, self.connectivity.reachable_since(instance.host))

    def health(self, instance: Instance, now: float) -> Health:
        heard_at = self.connectivity.last_heard(instance.host, now)
        return assess(instance, now, self.timing, heard_at, self.connectivity.reachable_since(instance.host))

    def _reconcile_process(self, name: str, now: float, epoch: Epoch) -> list[Action]:
        instance = self.processes.newest(name)
        if instance is None or not instance.alive:
            return self._launch(name, now, epoch) if now >= self.due(name, now) else []
        health = self.health(instance, now)
        if health.state is HealthState.LOST:
            return self._replace(instance, now, epoch, health)
        termination, heard_at = instance.termination, instance.heartbeat.at
        if termination.active and not termination.requested and (heard_at or 0.0) > termination.signalled_at:
            # Healthy again, and the signal did not arrive.
            termination.cancel()
        if termination.active:
            return self.terminate(instance, now, epoch, "kill", termination.why)
        if health.needs_action:
            kind: SignalKind = "stack" if health.state is HealthState.HUNG else "kill"
            event = RecordEvent(health.state.value, name, instance.generation, health.why, _held(instance))
            return [event, *self.terminate(instance, now, epoch, kind, health.why)]
        if instance.unconfirmed and now - instance.launch_requested_at > RESEND_LAUNCH_S:
            return self._request_launch(instance, now, epoch)
        return []

    def _replace(self, instance: Instance, now: float, epoch: Epoch, health: Health) -> list[Action]:
        """Starts a newer instance of an unreachable worker; the old one exits when it learns of it."""
        history = self.processes.history(instance.name)
        if role_of(instance.name) != "worker" or now < history.due:
            return []
        history.record_lost(now, due=now + self.timing.lost)
        event = RecordEvent("lost", instance.name, instance.generation, health.why)
        return [event, *self._launch(instance.name, now, epoch)]

    def _launch(self, name: str, now: float, epoch: Epoch) -> list[Action]:
        newest = self.processes.newest(name)
        if newest is not None and newest.generation.epoch > epoch:
            # We are a deposed leader: a process that we start would be superseded at once.
            return []
        host = self._host_for(name, now)
        if host != self.host and not self.connectivity.doctor_on(host, now):
            return []
        known = newest.generation.launch if newest is not None and newest.generation.epoch == epoch else 0
        self.launches = max(self.launches, known) + 1
        history = self.processes.history(name)
        what = "restarted" if history.crashed_at is not None or history.restarts else "started"
        instance = Instance(name, Generation(epoch, self.launches), host, now, restarts=history.restarts)
        self.processes.add(instance)
        history.count_restarts(history.restarts + 1)
        event = RecordEvent(what, name, instance.generation, f"on {host}" if host else "")
        if host == self.host:
            return [event, StartProcess(name, instance.generation, instance.restarts)]
        return [event, *self._request_launch(instance, now, epoch)]

    def _host_for(self, name: str, now: float) -> str:
        """Its home host. A worker starts on this host while its own is unreachable."""
        home = host_of(name)
        unreachable = home != self.host and now - self.connectivity.last_heard(home, now) > self.timing.lost
        return self.host if unreachable and role_of(name) == "worker" else home

    def _request_launch(self, instance: Instance, now: float, epoch: Epoch) -> list[Action]:
        instance.request_launch(now)
        doctor = self.connectivity.doctor_on(instance.host, now)
        launch = Launch(epoch, instance.name, instance.generation, instance.restarts)
        return [Send(doctor, launch)] if doctor else []

    def terminate(
        self, instance: Instance, now: float, epoch: Epoch, kind: SignalKind, why: str, *, requested: bool = False
    ) -> list[Action]:
        """Starts or continues to terminate an instance: sends it a signal, then SIGKILL after a timeout."""
        timeouts = {"term": self.timing.stop, "stack": STACK_DUMP_S, "kill": RESEND_KILL_S}
        termination = instance.termination
        if not termination.active:
            termination.begin(now, why, requested=requested)
        elif now - termination.signalled_at < timeouts.get(termination.signal, 0.0):
            return []
        kind = "kill" if termination.signal else kind
        termination.record_signal(kind, now)
        if instance.host == self.host:
            return [Signal(instance.name, instance.generation, kind)]
        doctor = self.connectivity.doctor_on(instance.host, now)
        return [Send(doctor, Kill(epoch, instance.name, instance.generation, kind, why))] if doctor else []

    def record_exit(self, instance: Instance, now: float, cause: Cause) -> None:
        """Records an exit and the backoff after it. Every doctor does this, so that the next leader knows of it too."""
        instance.exit(now)
        history = self.processes.history(instance.name)
        history.count_restarts(instance.restarts + 1)
        history.record_exit(cause, reason_of(cause), _held(instance))
        if self.processes.newest(instance.name) is not instance:
            return
        if instance.termination.requested or cause.code == EXIT_OLD:
            delay_s = 0.0 if instance.termination.requested else SUPERSEDED_BACKOFF_S
            history.schedule_restart(now, delay_s, crashed=False)
        elif cause.code == EXIT_FULL:
            history.schedule_restart(now, self.timing.full)
        else:
            instance.mark_crashed(crashed=True)
            history.count_crash(steady=instance.heartbeat.ready_s(now) >= self.timing.steady)
            max_s = min(self.timing.backoff, MAX_WORK_BACKOFF_S) if history.held.job else self.timing.backoff
            history.schedule_restart(now, backoff_s(history.in_a_row, max_s))

    def due(self, name: str, now: float) -> float:
        """The process is not restarted before this time."""
        history = self.processes.history(name)
        if role_of(name) != "worker" or self._another_is_ready(name, now):
            return history.due
        return min(history.due, history.exited_at + MAX_LAST_WORKER_BACKOFF_S)

    def _another_is_ready(self, worker: str, now: float) -> bool:
        others = (each for each in self.processes.alive() if role_of(each.name) == "worker" and each.name != worker)
        return any(each.heartbeat.ready and self.health(each, now).state is HealthState.HEALTHY for each in others)

    def apply_cause(self, instance: Instance, cause: Cause) -> None:
        """Applies a cause that arrived after the exit was recorded."""
        history = self.processes.history(instance.name)
        history.record_exit(cause, reason_of(cause), history.held)
        if cause.code in (EXIT_FULL, EXIT_OLD) and instance.crashed:
            instance.mark_crashed(crashed=False)
            history.uncount_crash()

    def backoff_events(self, name: str, since: float) -> list[Action]:
        """A `backoff` event, if the restart after an exit at `since` is delayed."""
        history = self.processes.history(name)
        delay_s = self.due(name, since) - since
        if delay_s <= 0 or not self.desired.state.should_run(name):
            return []
        reason = restarting(delay_s, history.reason())
        return [RecordEvent("backoff", name, None, reason, history.held, history.cause.last, at=since)]

    def cancel_backoff(self, name: str, now: float) -> None:
        """An operator starts the process: its next start is due now."""
        self.processes.history(name).retry(now)


def backoff_s(crashes: int, max_s: float) -> float:
    """Backoff after this many consecutive crashes."""
    if crashes <= IMMEDIATE_RESTARTS:
        return 0.0
    doublings = min(crashes - IMMEDIATE_RESTARTS - 1, MAX_DOUBLINGS)
    return float(min(FIRST_BACKOFF_S * 2**doublings, max_s))


def _held(instance: Instance) -> Assignment:
    """The work that it held and that other workers take over."""
    return instance.heartbeat.work if role_of(instance.name) == "worker" else NO_WORK


def _is_unmanaged(instance: Instance) -> bool:
    """Not started by a leader but by hand or by another manager: doctors must not stop it."""
    return instance.generation.epoch == Epoch()


def _stop_reason(desired: DesiredState, name: str) -> str:
    hold = desired.held.get(name)
    return f"it was {hold.value}" if hold is not None else "scaled down"
