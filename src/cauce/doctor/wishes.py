"""Wishes on the fabric: in a job of the service's own, so that they outlast every process and every host sees them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec

from cauce.doctor.desired import Wish, Wishes
from cauce.errors import FabricError
from cauce.fabric.contract import Fabric, Position
from cauce.wire.records import CLIENT, Kind, record
from cauce.wire.service import SERVICE

HOME = f"{SERVICE}-cluster"
_LOG = "wishes"
_READ_BYTES = 1 << 20
_TRIES = 20


class WishLog:
    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._position: Position = {}
        self.wishes = Wishes()

    def read(self, *, surely: bool = False) -> list[Wish]:
        """Those that have come since the last look; `surely`, none that was confirmed to anybody is left out."""
        if surely:
            self._fabric.catch_up()
            self._fabric.catch_up(HOME, _LOG)
        found: list[Wish] = []
        while True:
            batch = self._fabric.read(HOME, _LOG, self._position, _READ_BYTES)
            if batch.position == self._position:
                break
            self._position = batch.position
            found += [msgspec.json.decode(each.body, type=Wish) for each in batch.records]
        self.wishes.add(found)
        return found

    def append(self, wishes: Iterable[Wish]) -> None:
        self._fabric.create_job(HOME, b"{}")
        for wish in wishes:
            self._fabric.append(HOME, _LOG, [record(Kind.DATA, CLIENT, 0, msgspec.json.encode(wish))])

    def wish(self, wanted: dict[str, str], why: str = "") -> list[Wish]:
        """Has these hold from now on, whoever else wishes at the same time. Returns them as they were noted."""
        by = secrets.token_hex(4)
        noted: dict[str, Wish] = {}
        for _ in range(_TRIES):
            self.read(surely=True)
            missing = [key for key, value in wanted.items() if not self._holds(noted.get(key), key, value)]
            if not missing:
                return list(noted.values())
            fresh = [self.wishes.next(key, wanted[key], by, why, time.time()) for key in missing]
            self.append(fresh)
            noted.update((each.key, each) for each in fresh)
        raise FabricError(f"the wishes in {HOME} change faster than one can be added; see who writes there")

    def _holds(self, noted: Wish | None, key: str, value: str) -> bool:
        """Ours is the last one of its key, or whoever came after us wishes the same."""
        latest = self.wishes.latest.get(key)
        return noted is not None and latest is not None and latest.value == value
