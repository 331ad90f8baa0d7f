"""Log of desired-state entries on the fabric, in an internal job: durable, and readable from every host."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec

from cauce.doctor.model.desired_state import DesiredEntries, DesiredEntry
from cauce.errors import FabricError
from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log, service_log_name
from cauce.fabric.records import CLIENT, Kind, record
from cauce.job.log_reader import LogReader
from cauce.job.service_logs import append_to_service_log

SERVICE_LOG = service_log_name("cluster")
_LOG = Log("desired-state")
_TRIES = 20


class DesiredStateLog:
    """Reader and writer of the log, with the entries read so far."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._reader = LogReader(_LOG)
        self.desired = DesiredEntries()

    def read(self, *, consistent: bool = False) -> list[DesiredEntry]:
        """Entries appended since the last read. `consistent`: a linearizable read, with every confirmed entry."""
        if consistent:
            self._fabric.read_barrier()
            self._reader.read_barrier(self._fabric, SERVICE_LOG)
        found = [
            msgspec.json.decode(each.body, type=DesiredEntry)
            for each in self._reader.records(self._fabric, SERVICE_LOG)
        ]
        self.desired.add(found)
        return found

    def append(self, entries: Iterable[DesiredEntry]) -> None:
        for entry in entries:
            body = record(Kind.DATA, CLIENT, 0, msgspec.json.encode(entry))
            append_to_service_log(self._fabric, SERVICE_LOG, _LOG, [body])

    def update(self, wanted: dict[str, str], why: str = "") -> list[DesiredEntry]:
        """Appends entries until they are the latest of their keys, despite concurrent writers. Returns the entries."""
        by = secrets.token_hex(4)
        appended: dict[str, DesiredEntry] = {}
        for _ in range(_TRIES):
            self.read(consistent=True)
            missing = [key for key, value in wanted.items() if not self._is_latest(appended.get(key), key, value)]
            if not missing:
                return list(appended.values())
            fresh = [self.desired.next(key, wanted[key], by, why, time.time()) for key in missing]
            self.append(fresh)
            appended.update((each.key, each) for each in fresh)
        raise FabricError(
            f"{SERVICE_LOG}: the desired state was changed concurrently {_TRIES} times; retry the command"
        )

    def _is_latest(self, appended: DesiredEntry | None, key: str, value: str) -> bool:
        """Whether our entry is the latest of its key, or a later one has the same value."""
        latest = self.desired.latest.get(key)
        return appended is not None and latest is not None and latest.value == value
