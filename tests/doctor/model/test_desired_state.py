"""Desired state: the latest entry of each key wins, in any order and with duplicates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cauce.doctor.model.desired_state import (
    RING,
    RUNNING,
    STOPPED,
    WATCH,
    DesiredEntries,
    DesiredEntry,
    count_key,
    hold_key,
)

KEYS = [RUNNING, WATCH, count_key("worker"), count_key("gateway"), hold_key("worker-1"), hold_key("gateway-2")]
VALUES = ["yes", "no", "", "0", "1", "3", STOPPED, RING, "star"]
entries = st.builds(
    DesiredEntry, st.sampled_from(KEYS), st.sampled_from(VALUES), st.integers(1, 4), st.sampled_from(["a", "b", "c"])
)


def of(*given: DesiredEntry) -> DesiredEntries:
    made = DesiredEntries()
    made.add(given)
    return made


@given(st.lists(entries, max_size=12), st.randoms())
def test_merging_is_commutative_and_idempotent(given: list[DesiredEntry], rng: object) -> None:
    mixed = [*given, *given[::2]]
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = of(*given), of(*mixed)
    assert one.latest == other.latest
    assert one.state == other.state


def test_without_entries_the_desired_state_is_unknown() -> None:
    desired = DesiredEntries().state
    assert not desired.known
    assert not desired.running


def test_counts_define_names_and_holds_exclude_them() -> None:
    made = of(DesiredEntry(RUNNING, "yes", 1, "x"), DesiredEntry(count_key("worker"), "2", 1, "x"))
    assert made.state.names == ("worker-1", "worker-2")
    assert made.state.should_run("worker-2")
    made.add([made.next(hold_key("worker-2"), STOPPED, "operator")])
    assert not made.state.should_run("worker-2")
    assert made.state.is_counted("worker-2")
    made.add([made.next(hold_key("worker-2"), "", "operator")])
    assert made.state.should_run("worker-2")


def test_counts_are_per_host() -> None:
    made = of(DesiredEntry(RUNNING, "yes", 1, "x"), DesiredEntry(count_key("worker", "b"), "1", 1, "x"))
    assert made.state.names == ("worker-1@b",)


def test_no_process_should_run_when_the_service_stops() -> None:
    made = of(DesiredEntry(RUNNING, "no", 1, "x"), DesiredEntry(count_key("worker"), "2", 1, "x"))
    assert made.state.known
    assert not any(map(made.state.should_run, made.state.names))


def test_invalid_entries_are_ignored() -> None:
    made = of(
        DesiredEntry("count.king@", "3", 1, "x"),
        DesiredEntry("hold.nobody", "stopped", 1, "x"),
        DesiredEntry("count.worker@", "x", 1, "x"),
    )
    assert made.state.names == ()
    assert made.state.held == {}
