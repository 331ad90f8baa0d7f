"""Tombstones: records of cancelled and expired jobs, kept for a day in internal jobs of the fabric (buckets).

Their number is bounded. A day has buckets of MOST tombstones each, of which only the newest are kept, so that the
oldest tombstones are dropped first. Each owner has a share of them. Tombstones beyond it go to overflow buckets with
the same bounds, so that an owner who cancels many jobs displaces only tombstones of owners who do the same.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import msgspec

from cauce.api.jobs import State
from cauce.errors import FabricFull
from cauce.fabric.contract import Fabric
from cauce.fabric.names import SERVICE, Log, job_name, service_log_name
from cauce.fabric.records import CLIENT, Kind, record
from cauce.job.log_reader import LogReader
from cauce.job.service_logs import append_to_service_log

DAY_S = 86_400.0
MOST = 5_000
"""Tombstones in one bucket."""
BUCKETS = 2
"""Buckets that are kept per day, and as many overflow buckets."""
SHARE = 500
"""Tombstones of one owner in the kept buckets of a day; further ones go to the overflow buckets."""
_LOG = Log("ends")
_BUCKET_NAME = re.compile(rf"{SERVICE}-(?:(beyond)-)?([0-9]{{1,9}})(?:-([0-9]{{1,9}}))?")


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
    on: str = ""
    """The kept dataset that the job read."""
    sql: str = ""
    """Digest of its statements."""


Key = tuple[str, str]
"""Owner and job."""


class BucketId(NamedTuple):
    """The day of a bucket, whether it is an overflow bucket (`beyond` the owners' shares), and its number."""

    day: int
    beyond: bool
    number: int


class _Bucket:
    """The tombstones of one bucket. The earliest one of a job counts."""

    def __init__(self, bucket_id: BucketId) -> None:
        self.name = _name(bucket_id)
        self.tombstones: dict[Key, Tombstone] = {}
        self.count_of: Counter[str] = Counter()
        """Tombstones by owner."""
        self._reader = LogReader(_LOG)
        self._barrier_passed = False

    def advance(self, fabric: Fabric) -> None:
        if not self._barrier_passed:
            self._reader.read_barrier(fabric, self.name)
        for each in self._reader.records(fabric, self.name):
            self._add(msgspec.json.decode(each.body, type=Tombstone))
        self._barrier_passed = True

    def _add(self, tombstone: Tombstone) -> None:
        known = self.tombstones.get((tombstone.owner, tombstone.job))
        self.count_of[tombstone.owner] += known is None
        if known is None or tombstone.ended < known.ended:
            self.tombstones[tombstone.owner, tombstone.job] = tombstone


class TombstoneStore:
    """`pending` are tombstones for which the fabric had no space: shared by all threads of a gateway."""

    def __init__(self, fabric: Fabric, pending: dict[Key, Tombstone] | None = None) -> None:
        self._fabric = fabric
        self._pending = {} if pending is None else pending
        self._buckets: dict[BucketId, _Bucket] = {}

    def add(self, tombstone: Tombstone) -> None:
        bucket_id = self._bucket_for(tombstone)
        entry = record(Kind.DATA, CLIENT, 0, msgspec.json.encode(tombstone))
        append_to_service_log(self._fabric, _name(bucket_id), _LOG, [entry])

    def _bucket_for(self, tombstone: Tombstone) -> BucketId:
        """The newest bucket of its day; a new one if that is full."""
        day = _day_of(tombstone.ended)
        shared = self._kept(day, beyond=False)
        used = sum(self._bucket(each).count_of[tombstone.owner] for each in shared)
        bucket_id = shared[-1] if used < SHARE else self._kept(day, beyond=True)[-1]
        return bucket_id._replace(number=bucket_id.number + (len(self._bucket(bucket_id).tombstones) >= MOST))

    def add_later(self, tombstone: Tombstone) -> None:
        """For a job that was deleted first because the fabric had no space: its tombstone is appended when there is."""
        self._pending[tombstone.owner, tombstone.job] = tombstone
        self.append_pending()

    def append_pending(self) -> None:
        for key, tombstone in list(self._pending.items()):
            # Another gateway does not know of the end, and may have created the job again.
            if self._fabric.manifest(job_name(*key)) is None:
                try:
                    self.add(tombstone)
                except FabricFull:
                    return
            self._pending.pop(key, None)

    def all(self, now: float) -> dict[Key, Tombstone]:
        """The tombstones of the last day, by owner and job."""
        found = dict(self._pending)
        self._buckets = {bucket_id: self._bucket(bucket_id) for bucket_id in self._bucket_ids(now)}
        for bucket in self._buckets.values():
            for key, tombstone in bucket.tombstones.items():
                if now - tombstone.ended < DAY_S:
                    found.setdefault(key, tombstone)
        return found

    def find(self, owner: str, job: str, now: float) -> Tombstone | None:
        return self.all(now).get((owner, job))

    def find_consistent(self, owner: str, job: str, now: float) -> Tombstone | None:
        """Like `find`, after a read barrier: sees every tombstone that any gateway has confirmed."""
        self._fabric.read_barrier()
        for bucket_id in self._bucket_ids(now):
            self._fabric.read_barrier(_name(bucket_id), _LOG)
        return self.find(owner, job, now)

    def sweep(self, now: float) -> None:
        """Appends pending tombstones. Deletes the buckets of past days, and all but the newest of the other days."""
        self.append_pending()
        for name in self._fabric.service_logs():
            bucket_id = _bucket_id_of(name)
            if bucket_id is not None and (
                bucket_id.day < _day_of(now) - 1 or bucket_id not in self._kept(bucket_id.day, beyond=bucket_id.beyond)
            ):
                self._fabric.delete_job(name)

    def _bucket(self, bucket_id: BucketId) -> _Bucket:
        bucket = self._buckets.setdefault(bucket_id, _Bucket(bucket_id))
        bucket.advance(self._fabric)
        return bucket

    def _bucket_ids(self, now: float) -> list[BucketId]:
        """The buckets with the tombstones of the last day."""
        today = _day_of(now)
        # Tomorrow's too: clocks of gateways may differ.
        days = range(today - 1, today + 2)
        return [bucket_id for day in days for beyond in (False, True) for bucket_id in self._kept(day, beyond=beyond)]

    def _kept(self, day: int, *, beyond: bool) -> list[BucketId]:
        """The newest buckets of a day, oldest first; at least one, which may not have been created yet."""
        bucket_ids = filter(None, map(_bucket_id_of, self._fabric.service_logs()))
        alike = {bucket_id for bucket_id in bucket_ids if (bucket_id.day, bucket_id.beyond) == (day, beyond)}
        return sorted(alike | {BucketId(day, beyond, 0)})[-BUCKETS:]


def _name(bucket_id: BucketId) -> str:
    parts = [*(["beyond"] if bucket_id.beyond else []), bucket_id.day]
    return service_log_name(*parts, *([bucket_id.number] if bucket_id.number else []))


def _bucket_id_of(name: str) -> BucketId | None:
    found = _BUCKET_NAME.fullmatch(name)
    return BucketId(int(found[2]), bool(found[1]), int(found[3] or 0)) if found else None


def _day_of(moment: float) -> int:
    return int(moment // DAY_S)
