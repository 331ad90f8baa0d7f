"""Redacts the cluster's state for a client: jobs, and the work on them, are visible only to their owner.

The decision uses the owner field, never the text of a reason.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cauce.api.names import LOCAL
from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.supervision.events import Event
from cauce.gateway.public_text import without_folders


def rows_for(owner: str, rows: Sequence[ProcessStatus]) -> list[ProcessStatus]:
    return [_row_for(owner, row) for row in rows]


def events_for(owner: str, events: Sequence[Event]) -> list[Event]:
    return [_event_for(owner, event) for event in events]


def _row_for(owner: str, row: ProcessStatus) -> ProcessStatus:
    """Reasons may contain paths of this machine: folders are shown to local users only."""
    if owner == LOCAL:
        return row
    shown = msgspec.structs.replace(row, reason=without_folders(row.reason))
    seen = _may_see(owner, row.owner, row.job)
    return shown if seen else msgspec.structs.replace(shown, owner="", job="", work="")


def _event_for(owner: str, event: Event) -> Event:
    """The last lines of a log may name any job: they are shown to local users only."""
    if owner == LOCAL:
        return event
    shown = msgspec.structs.replace(event, reason=without_folders(event.reason), last="")
    seen = _may_see(owner, event.owner, event.job)
    return shown if seen else msgspec.structs.replace(shown, owner="", job="", work="")


def _may_see(reader: str, owner: str, job: str) -> bool:
    """Work without a job is public: the leader that a doctor follows, the number of requests of a gateway."""
    return not job or (bool(owner) and owner == reader)
