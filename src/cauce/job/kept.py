"""Kept datasets on the fabric: a dataset that the service stores under a name is a job that never runs.

    manifest               name, owner, tables, schema or declared dataset, how long it is kept
    raw-INCARNATION-…      the parts of each table and lane, encoded like those of jobs
    receipts-INCARNATION-… the stored parts of each table, and how many of them each version has
    job                    how it ended: dropped or expired

Parts are only appended, so a version is the number of parts of each table. A job stores the version that it reads.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

import msgspec

from cauce.errors import JobFailed
from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log, service_log_name
from cauce.fabric.records import Kind, Record
from cauce.fabric.versions import decode_json
from cauce.schema.structs import DatasetSchema

VERSION = 1
_KEPT = "kept"
_ID_BYTES = 16
_INCARNATION_BYTES = 6


class StoredTable(msgspec.Struct, frozen=True):
    """`name` is the table's name in SQL, `columns` are (name, type) pairs for people."""

    name: str
    lanes: int
    columns: tuple[tuple[str, str], ...]


class KeptManifest(msgspec.Struct, frozen=True):
    """`tables` are by their names in logs. Exactly one of `schema` and `declared` is given."""

    name: str
    owner: str
    incarnation: str
    """Distinguishes it from an earlier dataset of the same name: it is part of the names of all logs with data."""
    created: float
    keep_s: float
    tables: dict[str, StoredTable]
    schema: DatasetSchema | None = None
    declared: str = ""
    """The name of a declared dataset whose tables it has."""
    version: int = VERSION

    def dump(self) -> bytes:
        return msgspec.json.encode(self)


def load_kept(data: bytes, name: str) -> KeptManifest:
    """Raises CorruptRecord or OtherVersion."""
    return decode_json(data, KeptManifest, VERSION, f"the stored manifest of dataset {name}")


def store_name(owner: str, name: str) -> str:
    """The name of a dataset on the fabric. Workers never see it as a job."""
    digest = hashlib.blake2b(f"{owner}\0{name}".encode(), digest_size=_ID_BYTES).hexdigest()
    return service_log_name(_KEPT, digest)


def is_store(name: str) -> bool:
    return name.startswith(service_log_name(_KEPT, ""))


def new_incarnation() -> str:
    return secrets.token_hex(_INCARNATION_BYTES)


def raw_log(incarnation: str, table: str, lane: int) -> Log:
    return Log(f"raw-{incarnation}-{table}-{lane}")


def receipts_of(incarnation: str, table: str) -> str:
    """The name of the receipts of a table."""
    return f"{incarnation}-{table}"


class TableVersion(msgspec.Struct, frozen=True):
    parts: int
    bytes: int
    lanes: int


class KeptVersion(msgspec.Struct, frozen=True):
    """The version of a kept dataset that a job reads: a number of parts of each table, which never change."""

    dataset: str
    version: int
    store: str
    incarnation: str
    tables: dict[str, TableVersion]

    def source(self, table: str, lane: int) -> RawSource:
        found = self.tables[table]
        count = len(range(lane, found.parts, found.lanes))
        return RawSource(self.store, raw_log(self.incarnation, table, lane), count, found.parts, self)

    def check(self, fabric: Fabric) -> None:
        """Raises DatasetDropped if the dataset does not exist any more."""
        if not self._exists(fabric):
            fabric.read_barrier()
            if not self._exists(fabric):
                raise DatasetDropped(
                    f"the kept dataset {self.dataset} was dropped while the job read it: upload it again, and start a "
                    "new job"
                )

    def _exists(self, fabric: Fabric) -> bool:
        data = fabric.manifest(self.store)
        return data is not None and load_kept(data, self.dataset).incarnation == self.incarnation


class DatasetDropped(JobFailed):
    code = "dataset-dropped"


@dataclass(frozen=True)
class RawSource:
    """The log with the parts of a lane: of the job itself, or of a kept dataset, up to the parts of a version."""

    job: str
    log: Log
    count: int | None = None
    """The number of parts of the lane, if it is known from the start."""
    parts: int = 0
    kept: KeptVersion | None = None

    def includes(self, record: Record) -> bool:
        """Whether the record belongs to the version. Ends are those of jobs: a kept dataset has none."""
        return self.kept is None or (record.kind == Kind.DATA and record.seq < self.parts)
