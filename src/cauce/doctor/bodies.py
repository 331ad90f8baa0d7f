"""The cluster and its timeline as they are told over HTTP and printed as JSON."""

from __future__ import annotations

import msgspec

from cauce.doctor.events import Event
from cauce.doctor.no_worker import NoWorker
from cauce.doctor.view import Row, View
from cauce.errors import UsageError


class ClusterBody(msgspec.Struct, frozen=True):
    """As one doctor sees it, which is the leader wherever there is one."""

    doctor: str
    leader: str
    epoch: int
    running: bool
    watch: str
    processes: list[Row]
    no_worker: NoWorker | None = None
    """Set while no worker runs."""


class EventsBody(msgspec.Struct, frozen=True):
    """`next` asks for what comes after these."""

    events: list[Event]
    next: str


def cluster_body(view: View, missing: NoWorker | None = None) -> ClusterBody:
    return ClusterBody(view.doctor, view.leader, view.epoch, view.running, view.watch, view.rows, missing)


def events_after(events: list[Event], cursor: str, limit: int) -> EventsBody:
    """The next events behind a cursor, ordered by time; without a cursor, the first that are kept. Pages follow the
    order of leaders and of what each recorded, which never changes when later events arrive."""
    order = _order(cursor) if cursor else None
    later = events if order is None else [each for each in events if each.order > order]
    page = later[:limit]
    return EventsBody(_by_time(page), _cursor(page[-1]) if page else cursor)


def last_events(events: list[Event], count: int) -> EventsBody:
    """The latest events, ordered by time."""
    return EventsBody(_by_time(events)[-count:], _cursor(events[-1]) if events else "")


def _by_time(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.at, event.order))


def _cursor(event: Event) -> str:
    return f"{event.epoch}.{event.count}.{event.by}"


def _order(cursor: str) -> tuple[int, int, str]:
    epoch, dot, rest = cursor.partition(".")
    count, second, by = rest.partition(".")
    if not (dot and second and epoch.isdecimal() and count.isdecimal() and len(cursor) < 200 and cursor.isascii()):
        raise UsageError(f"{cursor[:80]!r} is no cursor of the timeline; take `next` of the answer before")
    return int(epoch), int(count), by
