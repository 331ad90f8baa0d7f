"""Logs of the cluster on the fabric: desired state and timeline."""

from __future__ import annotations

import pytest

from cauce.doctor.json_bodies import events_after, last_events
from cauce.doctor.model.desired_state import RUNNING, DesiredEntry, count_key
from cauce.doctor.supervision.desired_state_log import DesiredStateLog
from cauce.doctor.supervision.events import DAY_S, KEPT_DAYS, Event, EventLog
from cauce.errors import UsageError
from cauce.fabric.memory import MemoryFabric, Store


@pytest.fixture
def store() -> Store:
    return Store()


def fabric(store: Store) -> MemoryFabric:
    return MemoryFabric(store)


def test_entries_are_visible_to_other_processes(store: Store) -> None:
    DesiredStateLog(fabric(store)).update({RUNNING: "yes", count_key("worker"): "3"})
    other = DesiredStateLog(fabric(store))
    other.read()
    assert other.desired.state.running
    assert other.desired.state.names == ("worker-1", "worker-2", "worker-3")


def test_an_entry_wins_over_a_concurrent_one(store: Store) -> None:
    one, other = DesiredStateLog(fabric(store)), DesiredStateLog(fabric(store))
    one.read()
    other.append([DesiredEntry(count_key("worker"), "7", 1, "zzzz")])
    (noted,) = one.update({count_key("worker"): "2"})
    other.read()
    assert other.desired.latest[count_key("worker")] == noted


def test_logs_of_the_cluster_are_in_internal_jobs(store: Store) -> None:
    DesiredStateLog(fabric(store)).update({RUNNING: "yes"})
    EventLog(fabric(store)).append(Event(0.0, "crashed", "worker-1"))
    assert fabric(store).jobs() == []


def event(count: int, epoch: int = 1, what: str = "started", at: float = 0.0, by: str = "doctor-1") -> Event:
    return Event(at or float(count), what, f"worker-{count}", epoch, count, by, f"{count}")


def test_the_timeline_is_ordered_by_epoch_and_count(store: Store) -> None:
    one, other = EventLog(fabric(store)), EventLog(fabric(store))
    for each in (event(2), event(1, 2), event(1)):
        one.append(each)
    other.append(event(2, 2))
    assert [(each.epoch, each.count) for each in other.read()] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_an_exit_recorded_by_two_leaders_is_deduplicated(store: Store) -> None:
    log = EventLog(fabric(store))
    log.append(Event(1.0, "crashed", "worker-1", 1, 1, "doctor-1", "x"))
    log.append(Event(1.1, "crashed", "worker-1", 2, 1, "doctor-2", "x"))
    log.append(Event(1.2, "crashed", "worker-1", 2, 2, "doctor-2", "y"))
    assert [(each.epoch, each.generation) for each in log.read()] == [(1, "x"), (2, "y")]


def test_days_past_their_retention_are_deleted(store: Store) -> None:
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
        Event(20.0, "crashed", "worker-1", 1, 2, "doctor-1"),
        Event(25.0, "elected", "doctor-2", 2, 1, "doctor-2"),
    ]
    last = last_events(recorded, 2)
    assert [event.at for event in last.events] == [25.0, 30.0]
    assert events_after(recorded, last.next, 5).events == []
    assert [event.at for event in events_after(recorded, "", 5).events] == [20.0, 25.0, 30.0]


@pytest.mark.parametrize("cursor", ["x", "1", "1.", "1.x.y", "-1.2.x", "१.1.x"])
def test_an_invalid_cursor_is_rejected(cursor: str) -> None:
    with pytest.raises(UsageError, match="invalid cursor"):
        events_after([], cursor, 5)
