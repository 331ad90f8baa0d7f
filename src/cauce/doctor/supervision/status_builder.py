"""Builds the cluster status from the state of a doctor. Pure functions."""

from __future__ import annotations

import msgspec

from cauce.doctor.model.desired_state import DesiredEntry
from cauce.doctor.model.names import role_of
from cauce.doctor.model.process_table import Instance, ProcessHistory
from cauce.doctor.model.status import PAGE, RESTARTING, ClusterStatus, ProcessStatus, StatusQuery
from cauce.doctor.supervision.core import Core
from cauce.doctor.supervision.health import HealthState


def status_of(core: Core, ask: StatusQuery) -> ClusterStatus:
    rows = rows_of(core)
    desired = core.desired.state
    return ClusterStatus(
        ask.nonce,
        core.who.name,
        core.bully.leader,
        core.bully.epoch.number,
        core.leads,
        desired.running,
        desired.watch,
        len(rows),
        ask.offset,
        rows[ask.offset : ask.offset + PAGE],
    )


def rows_of(core: Core) -> list[ProcessStatus]:
    names = dict.fromkeys([*core.desired.state.names, *sorted(instance.name for instance in core.processes.alive())])
    return [_row(core, name) for name in names]


def _row(core: Core, name: str) -> ProcessStatus:
    instance = core.processes.newest(name)
    hold = core.desired.state.held.get(name)
    history = core.processes.history(name)
    if instance is None or not instance.alive:
        return _exited(core, name, history, hold)
    health = core.reconciler.health(instance, core.now)
    return _alive(core, instance, health.state.value, health.why or history.why, history.in_a_row)


def _exited(core: Core, name: str, history: ProcessHistory, hold: DesiredEntry | None) -> ProcessStatus:
    restarts, held = max(history.restarts - 1, 0), history.held
    row = ProcessStatus(
        name,
        role_of(name),
        HealthState.EXITED.value,
        restarts=restarts,
        owner=held.owner,
        job=held.job,
        work=held.task,
        reason=history.why,
    )
    if hold is not None:
        return msgspec.structs.replace(row, state=hold.value, reason=hold.why or history.why)
    in_s = round(core.reconciler.due(name, core.now) - core.now, 3)
    if in_s <= 0 or not core.desired.state.should_run(name):
        return row
    return msgspec.structs.replace(
        row, state=RESTARTING, reason=history.reason(), crashes=history.in_a_row, restart_in_s=in_s
    )


def _alive(core: Core, instance: Instance, state: str, why: str, crashes: int) -> ProcessStatus:
    return ProcessStatus(
        instance.name,
        role_of(instance.name),
        state,
        instance.host,
        instance.pid,
        str(instance.generation),
        instance.name == core.bully.leader,
        instance.heartbeat.ready,
        instance.restarts,
        instance.observed.rss,
        instance.observed.cpu,
        instance.heartbeat.work.owner,
        instance.heartbeat.work.job,
        instance.heartbeat.work.task,
        round(core.now - instance.last_heartbeat_at(), 3),
        why,
        crashes,
    )
