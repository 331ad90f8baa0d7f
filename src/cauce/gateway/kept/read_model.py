"""Read model of a kept dataset: its stored parts, its version, and whether it is being removed. A pure function of its
logs, cached with the positions up to which they have been read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from cauce.api.sql import ColumnBody
from cauce.errors import CorruptRecord, OtherVersion
from cauce.fabric.contract import Fabric
from cauce.fabric.records import CLIENT, Kind, record
from cauce.gateway.errors import DatasetNotReady, NoSuchTable
from cauce.job.kept import KeptManifest, KeptVersion, TableVersion, is_store, load_kept, receipts_of
from cauce.job.kept_messages import KeptDataset, KeptTable
from cauce.job.log_reader import LogReader
from cauce.job.receipts import Receipts
from cauce.job.topology import JOB_LOG


class Removal(msgspec.Struct, frozen=True):
    """The mark of a dataset that accepts no parts and no jobs any more. Its data is removed when no job reads it."""

    incarnation: str
    why: Literal["dropped", "expired"]
    at: float


class KeptView:
    def __init__(self, store: str, data: bytes, manifest: KeptManifest) -> None:
        self.store = store
        self.data = data
        self.manifest = manifest
        self.receipts = {table: Receipts(receipts_of(manifest.incarnation, table)) for table in manifest.tables}
        self.removal: Removal | None = None
        self._log = LogReader(JOB_LOG)
        self._barrier_passed = False

    def refresh(self, fabric: Fabric, *, consistent: bool = False) -> None:
        """Reads new records. `consistent`, or the first call, sees everything confirmed before it."""
        if consistent or not self._barrier_passed:
            fabric.read_barrier(self.store, JOB_LOG, *(each.log for each in self.receipts.values()))
        for each in self.receipts.values():
            each.advance(fabric, self.store)
        for entry in self._log.records(fabric, self.store):
            found = msgspec.json.decode(entry.body, type=Removal)
            if found.incarnation == self.manifest.incarnation:
                self.removal = self.removal or found
        self._barrier_passed = True

    def remove(self, fabric: Fabric, why: Literal["dropped", "expired"], at: float) -> None:
        """Marks the dataset as removed."""
        mark = Removal(self.manifest.incarnation, why, at)
        fabric.append(self.store, JOB_LOG, [record(Kind.STATE, CLIENT, 0, msgspec.json.encode(mark))])
        self.refresh(fabric, consistent=True)

    def table(self, name: str) -> str:
        """The name in logs of a table, given by that or by its name in SQL."""
        for log_name, stored in self.manifest.tables.items():
            if name in (log_name, stored.name):
                return log_name
        known = ", ".join(stored.name for stored in self.manifest.tables.values())
        raise NoSuchTable(f"dataset {self.manifest.name} has no table {name[:80]!r}; expected one of {known}")

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.receipts.values())

    @property
    def active_at(self) -> float:
        """The time of the last upload."""
        return max(self.manifest.created, *(each.last_at for each in self.receipts.values()))

    @property
    def expires(self) -> float:
        return self.active_at + self.manifest.keep_s

    @property
    def version(self) -> int:
        """0 until all tables are complete. Then it grows with each completion of a table with more parts."""
        completions = [each.versions for each in self.receipts.values()]
        return sum(completions) - len(completions) + 1 if all(completions) else 0

    def version_of(self, tables: list[str]) -> KeptVersion:
        """The version of these tables that a new job reads. Raises if one of them is not complete."""
        missing = [self.manifest.tables[table].name for table in tables if self.receipts[table].complete is None]
        if missing:
            raise DatasetNotReady(
                f"table {' and '.join(missing)} of dataset {self.manifest.name} is not complete: finish its upload"
            )
        versions = {table: self._table_version(table) for table in tables}
        return KeptVersion(self.manifest.name, self.version, self.store, self.manifest.incarnation, versions)

    def _table_version(self, table: str) -> TableVersion:
        receipts = self.receipts[table]
        parts = receipts.complete or 0
        size = sum(receipt.bytes for seq, receipt in receipts.held.items() if seq < parts)
        return TableVersion(parts, size, self.manifest.tables[table].lanes)

    def rows(self, table: str) -> int:
        """A rough estimate of the number of rows, for the choice of join sides."""
        cells = 8 * max(len(self.manifest.tables[table].columns), 1)
        return sum(receipt.size or receipt.bytes for receipt in self.receipts[table].held.values()) // cells + 1

    @property
    def status(self) -> KeptDataset:
        manifest = self.manifest
        return KeptDataset(
            manifest.name,
            manifest.owner,
            self.version,
            manifest.created,
            self.expires,
            self.bytes,
            {stored.name: self._table_status(table) for table, stored in manifest.tables.items()},
            manifest.schema,
            manifest.declared or None,
            manifest.keep_s,
        )

    def _table_status(self, table: str) -> KeptTable:
        receipts = self.receipts[table]
        columns = [ColumnBody(name, kind) for name, kind in self.manifest.tables[table].columns]
        return KeptTable(receipts.count, receipts.bytes, receipts.complete, columns)


class KeptViews:
    """All kept datasets, as read by one thread of a gateway."""

    def __init__(self, fabric: Fabric, clock: Callable[[], float]) -> None:
        self._fabric = fabric
        self._clock = clock
        self._views: dict[str, KeptView] = {}

    def get(self, store: str) -> KeptView | None:
        """The dataset of this name on the fabric. None only after a read barrier. Not refreshed."""
        return self._current(store) or self._after_barrier(store)

    def _after_barrier(self, store: str) -> KeptView | None:
        self._fabric.read_barrier()
        return self._current(store)

    def _current(self, store: str) -> KeptView | None:
        data = self._fabric.manifest(store)
        if data is None:
            self._views.pop(store, None)
            return None
        view = self._views.get(store)
        if view is None or view.data != data:
            view = self._views[store] = KeptView(store, data, load_kept(data, store))
        return view

    def all(self) -> list[KeptView]:
        """All readable datasets of all owners, oldest first. Not refreshed."""
        names = [name for name in self._fabric.service_logs() if is_store(name)]
        self._views = {name: view for name, view in self._views.items() if name in names}
        found: list[KeptView] = []
        for name in names:
            try:
                view = self._current(name)
            except (CorruptRecord, OtherVersion):
                continue
            found += [] if view is None else [view]
        return found

    def forget(self, store: str) -> None:
        self._views.pop(store, None)
