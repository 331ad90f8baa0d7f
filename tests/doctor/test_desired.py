"""Wishes: the last of each key counts, in whatever order and however often they are heard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cauce.doctor.desired import RING, RUNNING, STOPPED, WATCH, Wish, Wishes, count_key, hold_key

KEYS = [RUNNING, WATCH, count_key("worker"), count_key("gateway"), hold_key("worker-1"), hold_key("gateway-2")]
VALUES = ["yes", "no", "", "0", "1", "3", STOPPED, RING, "star"]
wishes = st.builds(
    Wish, st.sampled_from(KEYS), st.sampled_from(VALUES), st.integers(1, 4), st.sampled_from(["a", "b", "c"])
)


def of(*given: Wish) -> Wishes:
    made = Wishes()
    made.add(given)
    return made


@given(st.lists(wishes, max_size=12), st.randoms())
def test_order_and_repetition_change_nothing(given: list[Wish], rng: object) -> None:
    mixed = [*given, *given[::2]]
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = of(*given), of(*mixed)
    assert one.latest == other.latest
    assert one.desired == other.desired


def test_before_any_wish_nothing_is_known() -> None:
    desired = Wishes().desired
    assert not desired.known
    assert not desired.running


def test_counts_give_names_and_holds_take_them_out() -> None:
    made = of(Wish(RUNNING, "yes", 1, "x"), Wish(count_key("worker"), "2", 1, "x"))
    assert made.desired.names == ("worker-1", "worker-2")
    assert made.desired.wants("worker-2")
    made.add([made.next(hold_key("worker-2"), STOPPED, "operator")])
    assert not made.desired.wants("worker-2")
    assert made.desired.counted("worker-2")
    made.add([made.next(hold_key("worker-2"), "", "operator")])
    assert made.desired.wants("worker-2")


def test_hosts_have_counts_of_their_own() -> None:
    made = of(Wish(RUNNING, "yes", 1, "x"), Wish(count_key("worker", "b"), "1", 1, "x"))
    assert made.desired.names == ("worker-1@b",)


def test_nobody_is_wanted_when_all_is_to_stop() -> None:
    made = of(Wish(RUNNING, "no", 1, "x"), Wish(count_key("worker"), "2", 1, "x"))
    assert made.desired.known
    assert not any(map(made.desired.wants, made.desired.names))


def test_what_cannot_be_read_is_passed_over() -> None:
    made = of(
        Wish("count.king@", "3", 1, "x"), Wish("hold.nobody", "stopped", 1, "x"), Wish("count.worker@", "x", 1, "x")
    )
    assert made.desired.names == ()
    assert made.desired.held == {}
