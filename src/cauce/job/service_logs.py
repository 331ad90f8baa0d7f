"""The service's own logs, outside of jobs: desired state, timeline, tombstones. Each can be deleted on its own."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.errors import JobGone
from cauce.fabric.contract import Fabric, Log
from cauce.fabric.records import Record

_TRIES = 5


def append_to_service_log(fabric: Fabric, name: str, log: Log, records: Sequence[Record]) -> None:
    """Appends to a log of the service, and creates it if it does not exist. `name` is one of `service_log_name`."""
    for attempt in range(_TRIES):
        fabric.create_job(name, b"{}")
        try:
            fabric.append(name, log, records)
            return
        except JobGone:
            # A sweep of another process has deleted it in between.
            if attempt == _TRIES - 1:
                raise
