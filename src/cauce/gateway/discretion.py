"""What of the cluster a client is told: what names a job is for its owner alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cauce.doctor.events import Event
from cauce.doctor.view import Row
from cauce.gateway.names import LOCAL


def rows_for(owner: str, rows: Sequence[Row]) -> list[Row]:
    return [_row_for(owner, row) for row in rows]


def events_for(owner: str, happened: Sequence[Event]) -> list[Event]:
    return [_event_for(owner, each) for each in happened]


def _row_for(owner: str, row: Row) -> Row:
    """What a process works on names a job, and a job exists only for its owner."""
    seen = owner == LOCAL or row.role != "worker" or row.work.startswith(f"{owner}.")
    return row if seen else msgspec.structs.replace(row, work="", why=_without_work(row.why))


def _event_for(owner: str, happened: Event) -> Event:
    """So does what it held when it died, and what it said last."""
    if owner == LOCAL:
        return happened
    return msgspec.structs.replace(happened, why=_without_work(happened.why), last="")


def _without_work(why: str) -> str:
    return why.partition("; it held")[0]
