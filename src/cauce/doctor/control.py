"""What operators do to a cluster: wishes that are kept on the fabric and told to the doctors at once, and its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cauce.doctor.asking import Asker
from cauce.doctor.desired import RUNNING, Desired, Wish, count_key, hold_key
from cauce.doctor.home import Cluster, Home
from cauce.doctor.messages import Seen
from cauce.doctor.names import name_of, role_of
from cauce.doctor.no_worker import worker_count
from cauce.doctor.proc import send_signal
from cauce.doctor.wishes import WishLog
from cauce.errors import CauceError
from cauce.fabric.address import open_fabric

LOOK_S = 0.05
TELL_AGAIN_S = 0.5
_LAST = 1 << 60
"""Of a wish that is told and not kept: no other comes after it."""
CUT_OFF_S = 0.3
"""After the doctors' own time for stopping."""


@contextmanager
def wish_log(cluster: Cluster) -> Iterator[WishLog]:
    fabric = open_fabric(cluster.fabric, cluster.durability)
    try:
        yield WishLog(fabric)
    finally:
        fabric.close()


def wish(home: Home, wanted: dict[str, str], why: str = "") -> list[Wish]:
    """Has these hold from now on."""
    cluster = home.cluster()
    with wish_log(cluster) as log:
        noted = log.wish(wanted, why)
    with Asker(cluster) as asker:
        asker.tell(noted)
    return noted


def desired(home: Home) -> Desired:
    with wish_log(home.cluster()) as log:
        log.read(surely=True)
        return log.wishes.desired


def start_workers(home: Home) -> list[str]:
    """Has every worker of the service run, whatever stopped it; where there are none, as many as by default."""
    known, host = desired(home), home.cluster().host
    names = [name for name in known.names if role_of(name) == "worker"]
    wishes = {hold_key(name): "" for name in names}
    if not names:
        names = [name_of("worker", number, host) for number in range(1, worker_count() + 1)]
        wishes = {count_key("worker", host): str(len(names)), **{hold_key(name): "" for name in names}}
    wish(home, wishes, "started by an operator")
    return names


def stop_all(home: Home, warn: Callable[[str], None]) -> None:
    """Ends every process of this service on this host, in good order and within seconds, doctors or no doctors."""
    cluster = home.cluster()
    try:
        noted = wish(home, {RUNNING: "no"}, "stopped by an operator")
    except CauceError as problem:
        warn(f"the wish to stop could not be kept on the fabric, and is carried out all the same: {problem}")
        noted = [Wish(RUNNING, "no", _LAST, "operator")]
    with Asker(cluster) as asker:
        _end(home, cluster.timing.stop, lambda: asker.tell(noted))


def _end(home: Home, stop_s: float, tell: Callable[[], None]) -> None:
    begun = time.monotonic()
    told = begun
    asked: set[int] = set()
    while survivors := home.survivors():
        now = time.monotonic()
        if now - told > TELL_AGAIN_S:
            told = now
            tell()
        if now - begun > stop_s + CUT_OFF_S:
            _signal(survivors, signal.SIGKILL)
        elif not any(role_of(each.name) == "doctor" for each in survivors):
            # Nobody else does it.
            fresh = [each for each in survivors if each.pid not in asked]
            asked |= {each.pid for each in fresh}
            _signal(fresh, signal.SIGTERM)
        time.sleep(LOOK_S)


def _signal(processes: list[Seen], number: signal.Signals) -> None:
    for each in processes:
        send_signal(each.pid, each.start, number)
