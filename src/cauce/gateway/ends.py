"""What is left of jobs that were cancelled or have expired: a line each, for a day, in a job of the fabric's own."""

from __future__ import annotations

import msgspec

from cauce.fabric.contract import Fabric, Position
from cauce.gateway.model import State
from cauce.wire.records import CLIENT, Kind, record
from cauce.wire.service import SERVICE

DAY_S = 86_400.0
_LOG = "ends"
_READ_BYTES = 1 << 20


class Tombstone(msgspec.Struct, frozen=True):
    job: str
    owner: str
    dataset: str
    queries: list[str]
    parameters: dict[str, str]
    state: State
    cause: str
    code: str
    created: float
    ended: float


class _Day:
    """The ends of one day. The first of a job counts."""

    def __init__(self, day: int) -> None:
        self.home = f"{SERVICE}-{day}"
        self.stones: dict[tuple[str, str], Tombstone] = {}
        self._position: Position = {}
        self._caught_up = False

    def advance(self, fabric: Fabric) -> None:
        if not self._caught_up:
            fabric.catch_up(self.home, _LOG)
        while True:
            batch = fabric.read(self.home, _LOG, self._position, _READ_BYTES)
            if batch.position == self._position:
                self._caught_up = True
                return
            self._position = batch.position
            for each in batch.records:
                stone = msgspec.json.decode(each.body, type=Tombstone)
                known = self.stones.get((stone.owner, stone.job))
                if known is None or stone.ended < known.ended:
                    self.stones[stone.owner, stone.job] = stone


class Ends:
    """One job of the fabric for each day, so that it is bounded: old ones go as a whole."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._days: dict[int, _Day] = {}

    def add(self, stone: Tombstone) -> None:
        home = f"{SERVICE}-{_day_of(stone.ended)}"
        self._fabric.create_job(home, b"{}")
        self._fabric.append(home, _LOG, [record(Kind.DATA, CLIENT, 0, msgspec.json.encode(stone))])

    def all(self, now: float) -> dict[tuple[str, str], Tombstone]:
        """Those of the last day, by owner and job."""
        today = _day_of(now)
        # Tomorrow's too: clocks need not agree.
        self._days = {day: self._days.get(day) or _Day(day) for day in range(today - 1, today + 2)}
        found: dict[tuple[str, str], Tombstone] = {}
        for day in self._days.values():
            day.advance(self._fabric)
            for key, stone in day.stones.items():
                if now - stone.ended < DAY_S:
                    found.setdefault(key, stone)
        return found

    def find(self, owner: str, job: str, now: float) -> Tombstone | None:
        return self.all(now).get((owner, job))

    def find_surely(self, owner: str, job: str, now: float) -> Tombstone | None:
        """The same, for who would otherwise say that there is none: what any gateway has confirmed is seen."""
        self._fabric.catch_up()
        today = _day_of(now)
        for day in range(today - 1, today + 2):
            self._fabric.catch_up(f"{SERVICE}-{day}", _LOG)
        return self.find(owner, job, now)

    def sweep(self, now: float) -> None:
        """Removes the days that nobody looks at any more."""
        for name in self._fabric.jobs():
            service, _, day = name.partition("-")
            if service == SERVICE and day.isdigit() and int(day) < _day_of(now) - 1:
                self._fabric.delete_job(name)


def _day_of(moment: float) -> int:
    return int(moment // DAY_S)
