"""JSON bodies of the cluster status and the timeline, for HTTP responses and command output."""

from __future__ import annotations

import msgspec

from cauce.api.jobs import NoWorker
from cauce.doctor.model.status import ClusterStatus, ProcessStatus
from cauce.doctor.supervision.events import Event
from cauce.errors import UsageError


class ClusterBody(msgspec.Struct, frozen=True):
    """The cluster status as one doctor sees it: the leader, if there is one."""

    doctor: str
    leader: str
    epoch: int
    running: bool
    watch: str
    processes: list[ProcessStatus]
    no_worker: NoWorker | None = None
    """Set while no worker runs."""
    operator: bool = False
    """Whether the reader may start and stop processes, and read logs."""


class EventsBody(msgspec.Struct, frozen=True):
    """`next` is the cursor of the next page."""

    events: list[Event]
    next: str


def cluster_body(view: ClusterStatus, missing: NoWorker | None = None) -> ClusterBody:
    return ClusterBody(view.doctor, view.leader, view.epoch, view.running, view.watch, view.rows, missing)


def events_after(events: list[Event], cursor: str, limit: int) -> EventsBody:
    """The next events after a cursor, ordered by time; without a cursor, the oldest retained ones. Pages follow the
    order of epochs and of each leader's counter, which later events never change."""
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
        raise UsageError(f"invalid cursor {cursor[:80]!r} of the timeline; use `next` of the previous response")
    return int(epoch), int(count), by
