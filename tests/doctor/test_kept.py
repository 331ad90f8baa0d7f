"""What the cluster keeps on the fabric: wishes and the timeline."""

from __future__ import annotations

import pytest

from cauce.doctor.bodies import events_after, last_events
from cauce.doctor.desired import RUNNING, Wish, count_key
from cauce.doctor.events import DAY_S, KEPT_DAYS, Event, EventLog
from cauce.doctor.wishes import WishLog
from cauce.errors import UsageError
from cauce.fabric.memory import MemoryFabric, Store
from cauce.wire.service import is_of_service


@pytest.fixture
def store() -> Store:
    return Store()


def fabric(store: Store) -> MemoryFabric:
    return MemoryFabric(store)


def test_wishes_outlast_who_wished(store: Store) -> None:
    WishLog(fabric(store)).wish({RUNNING: "yes", count_key("worker"): "3"})
    other = WishLog(fabric(store))
    other.read()
    assert other.wishes.desired.running
    assert other.wishes.desired.names == ("worker-1", "worker-2", "worker-3")


def test_a_wish_holds_though_another_was_wished_at_the_same_time(store: Store) -> None:
    one, other = WishLog(fabric(store)), WishLog(fabric(store))
    one.read()
    other.append([Wish(count_key("worker"), "7", 1, "zzzz")])
    (noted,) = one.wish({count_key("worker"): "2"})
    other.read()
    assert other.wishes.latest[count_key("worker")] == noted


def test_what_the_cluster_keeps_is_no_job_of_anybodys(store: Store) -> None:
    WishLog(fabric(store)).wish({RUNNING: "yes"})
    EventLog(fabric(store)).append(Event(0.0, "died", "worker-1"))
    assert all(is_of_service(name) for name in fabric(store).jobs())


def event(count: int, epoch: int = 1, what: str = "started", at: float = 0.0, by: str = "doctor-1") -> Event:
    return Event(at or float(count), what, f"worker-{count}", epoch, count, by, f"{count}")


def test_the_timeline_is_in_the_order_of_epochs_and_counts(store: Store) -> None:
    one, other = EventLog(fabric(store)), EventLog(fabric(store))
    for each in (event(2), event(1, 2), event(1)):
        one.append(each)
    other.append(event(2, 2))
    assert [(each.epoch, each.count) for each in other.read()] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_death_that_two_leaders_tell_of_is_shown_once(store: Store) -> None:
    log = EventLog(fabric(store))
    log.append(Event(1.0, "died", "worker-1", 1, 1, "doctor-1", "x"))
    log.append(Event(1.1, "died", "worker-1", 2, 1, "doctor-2", "x"))
    log.append(Event(1.2, "died", "worker-1", 2, 2, "doctor-2", "y"))
    assert [(each.epoch, each.incarnation) for each in log.read()] == [(1, "x"), (2, "y")]


def test_days_are_kept_apart_and_old_ones_go(store: Store) -> None:
    log = EventLog(fabric(store))
    now = 30 * DAY_S
    for day in (1, 28, 30):
        log.append(event(day, at=day * DAY_S + 5))
    assert len(log.read()) == 3
    log.sweep(now)
    assert [each.count for each in log.read()] == [28, 30]
    assert KEPT_DAYS == 7


def test_pages_follow_each_other_by_cursor() -> None:
    events = [event(number, epoch, at=10.0 * epoch + number) for epoch in (1, 2) for number in (1, 2, 3)]
    seen: list[Event] = []
    cursor = ""
    while (page := events_after(events, cursor, 2)).events:
        seen += page.events
        cursor = page.next
    assert seen == events
    assert events_after(events, cursor, 2).next == cursor
    assert last_events(events, 2).events == events[-2:]


def test_events_are_listed_by_time_and_none_is_listed_twice() -> None:
    """A leader records a crash after a restart that came later, and a new leader has a clock that is behind."""
    recorded = [
        Event(30.0, "restarted", "worker-1", 1, 1, "doctor-1"),
        Event(20.0, "died", "worker-1", 1, 2, "doctor-1"),
        Event(25.0, "elected", "doctor-2", 2, 1, "doctor-2"),
    ]
    last = last_events(recorded, 2)
    assert [event.at for event in last.events] == [25.0, 30.0]
    assert events_after(recorded, last.next, 5).events == []
    assert [event.at for event in events_after(recorded, "", 5).events] == [20.0, 25.0, 30.0]


@pytest.mark.parametrize("cursor", ["x", "1", "1.", "1.x.y", "-1.2.x", "१.1.x"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="no cursor"):
        events_after([], cursor, 5)
