"""Operator actions on a cluster: change the desired state on the fabric and notify the doctors; stop the service."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cauce.doctor.launch.service_dir import Cluster, ServiceDir
from cauce.doctor.model.desired_state import RUNNING, STOPPED, DesiredEntry, DesiredState, count_key, hold_key
from cauce.doctor.model.messages import ObservedProcess
from cauce.doctor.model.names import name_of, role_of
from cauce.doctor.query import QueryClient
from cauce.doctor.supervision.desired_state_log import DesiredStateLog
from cauce.doctor.supervision.no_worker import worker_count
from cauce.errors import CauceError, UsageError
from cauce.fabric.factory import open_fabric
from cauce.process.table import send_signal

LOOK_S = 0.05
RESEND_S = 0.5
_LAST = 1 << 60
"""The number of an entry that is only sent, not stored: it supersedes every other."""
CUT_OFF_S = 0.3
"""Added to the doctors' own grace period for stopping."""


@contextmanager
def open_desired_state_log(cluster: Cluster) -> Iterator[DesiredStateLog]:
    fabric = open_fabric(cluster.fabric, cluster.durability)
    try:
        yield DesiredStateLog(fabric)
    finally:
        fabric.close()


def update_desired_state(service_dir: ServiceDir, wanted: dict[str, str], why: str = "") -> list[DesiredEntry]:
    """Appends these desired-state entries and sends them to the doctors."""
    cluster = service_dir.cluster()
    with open_desired_state_log(cluster) as log:
        entries = log.update(wanted, why)
    with QueryClient(cluster) as client:
        client.send(entries)
    return entries


def read_desired_state(service_dir: ServiceDir) -> DesiredState:
    with open_desired_state_log(service_dir.cluster()) as log:
        log.read(consistent=True)
        return log.desired.state


def start_workers(service_dir: ServiceDir) -> list[str]:
    """Starts every worker of the service, and releases holds; if there are none, scales to the default number."""
    known, host = read_desired_state(service_dir), service_dir.cluster().host
    names = [name for name in known.names if role_of(name) == "worker"]
    entries = {hold_key(name): "" for name in names}
    if not names:
        names = [name_of("worker", number, host) for number in range(1, worker_count() + 1)]
        entries = {count_key("worker", host): str(len(names)), **{hold_key(name): "" for name in names}}
    update_desired_state(service_dir, entries, "started by an operator")
    return names


def hold_process(service_dir: ServiceDir, name: str, *, running: bool) -> None:
    """Starts or stops one process. Raises UsageError if the service does not have it."""
    known = read_desired_state(service_dir)
    if name not in known.names:
        raise UsageError(f"the service has no process {name}; it has {', '.join(known.names)}")
    why = "started by an operator" if running else "stopped by an operator"
    update_desired_state(service_dir, {hold_key(name): "" if running else STOPPED}, why)


def stop_all(service_dir: ServiceDir, warn: Callable[[str], None]) -> None:
    """Stops every process of this service on this host gracefully, within seconds, even if no doctor runs."""
    cluster = service_dir.cluster()
    try:
        entries = update_desired_state(service_dir, {RUNNING: "no"}, "stopped by an operator")
    except CauceError as problem:
        warn(f"the stop is not recorded on the fabric; processes of this host are stopped all the same: {problem}")
        entries = [DesiredEntry(RUNNING, "no", _LAST, "operator")]
    with QueryClient(cluster) as client:
        _stop_processes(service_dir, cluster.timing.stop, lambda: client.send(entries))


def _stop_processes(service_dir: ServiceDir, stop_s: float, resend: Callable[[], None]) -> None:
    started = time.monotonic()
    sent = started
    asked: set[int] = set()
    while processes := service_dir.running_processes():
        now = time.monotonic()
        if now - sent > RESEND_S:
            sent = now
            resend()
        if now - started > stop_s + CUT_OFF_S:
            _signal(processes, signal.SIGKILL)
        elif not any(role_of(each.name) == "doctor" for each in processes):
            # No doctor is left to do it.
            fresh = [each for each in processes if each.pid not in asked]
            asked |= {each.pid for each in fresh}
            _signal(fresh, signal.SIGTERM)
        time.sleep(LOOK_S)


def _signal(processes: list[ObservedProcess], number: signal.Signals) -> None:
    for each in processes:
        send_signal(each.pid, each.start, number)
