"""The timeline of the cluster: what happened to which process, kept on the fabric, a log for each day.

Leaders write it, so its order is that of epochs and, within one, of its leader's count. Two leaders at once may both
tell of a death: it is shown once.
"""

from __future__ import annotations

import msgspec

from cauce.fabric.contract import Fabric, Position
from cauce.wire.records import CLIENT, Kind, record
from cauce.wire.service import SERVICE

DAY_S = 86_400.0
KEPT_DAYS = 7
_PREFIX = f"{SERVICE}-events-"
_LOG = "events"
_READ_BYTES = 1 << 20
_ONCE = ("died", "detected", "left")


class Event(msgspec.Struct, frozen=True):
    """`what` is one of elected, started, restarted, caught up, died, detected, left, paused, hung, lost, backoff
    and what operators do: scaled, stopped, begun."""

    at: float
    what: str
    name: str
    epoch: int = 0
    count: int = 0
    by: str = ""
    incarnation: str = ""
    why: str = ""
    last: str = ""
    after_s: float | None = None

    @property
    def order(self) -> tuple[int, int, str]:
        return self.epoch, self.count, self.by


class EventLog:
    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._days: dict[int, _Day] = {}

    def append(self, event: Event) -> None:
        home = f"{_PREFIX}{_day_of(event.at)}"
        self._fabric.create_job(home, b"{}")
        self._fabric.append(home, _LOG, [record(Kind.DATA, CLIENT, 0, msgspec.json.encode(event))])

    def read(self, *, surely: bool = False) -> list[Event]:
        """All that are kept, in order; `surely`, none that was confirmed to anybody is left out."""
        if surely:
            self._fabric.catch_up()
            for name in self._homes().values():
                self._fabric.catch_up(name, _LOG)
        self._days = {number: self._days.get(number) or _Day(name) for number, name in self._homes().items()}
        found = [event for each in self._days.values() for event in each.advance(self._fabric)]
        return _each_once(sorted(found, key=lambda event: event.order))

    def _homes(self) -> dict[int, str]:
        names = [name for name in self._fabric.jobs() if name.startswith(_PREFIX)]
        return {int(day): name for name in names if (day := name.removeprefix(_PREFIX)).isdigit()}

    def sweep(self, now: float) -> None:
        for day, name in self._homes().items():
            if day < _day_of(now) - KEPT_DAYS:
                self._fabric.delete_job(name)


class _Day:
    def __init__(self, home: str) -> None:
        self._home = home
        self._position: Position = {}
        self._events: list[Event] = []

    def advance(self, fabric: Fabric) -> list[Event]:
        while True:
            batch = fabric.read(self._home, _LOG, self._position, _READ_BYTES)
            if batch.position == self._position:
                return self._events
            self._position = batch.position
            self._events += [msgspec.json.decode(each.body, type=Event) for each in batch.records]


def _each_once(events: list[Event]) -> list[Event]:
    seen: set[tuple[str, str, str]] = set()
    kept: list[Event] = []
    for event in events:
        key = event.what, event.name, event.incarnation
        if event.what not in _ONCE or key not in seen:
            kept.append(event)
        seen.add(key)
    return kept


def _day_of(moment: float) -> int:
    return int(moment // DAY_S)
