"""Replay protection: each datagram is accepted once, in any order."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cauce.doctor.messaging.freshness import MAX_SENDERS, WINDOW, Freshness, Receiver, Stamp, Window


def receiver() -> Receiver:
    return Receiver(itertools.count(1000).__next__)


@given(st.lists(st.integers(0, WINDOW - 1)))
def test_each_number_is_admitted_once_in_any_order(numbers: list[int]) -> None:
    window = Window()
    assert sum(map(window.admit, numbers)) == len(set(numbers))


@given(st.lists(st.integers(0, 5 * WINDOW)))
def test_no_number_is_ever_admitted_twice(numbers: list[int]) -> None:
    window = Window()
    admitted = [number for number in numbers if window.admit(number)]
    assert len(admitted) == len(set(admitted))


def test_a_number_beyond_the_window_is_rejected() -> None:
    window = Window()
    assert window.admit(WINDOW)
    assert not window.admit(0)
    assert window.admit(1)


def test_a_datagram_for_another_session_is_rejected() -> None:
    to = receiver()
    assert to.admit(Stamp(7, 0, 1)) is Freshness.OTHER_SESSION
    assert to.admit(Stamp(7, to.session - 1, 1)) is Freshness.OTHER_SESSION
    assert to.admit(Stamp(7, to.session, 1)) is Freshness.NEW
    assert to.admit(Stamp(7, to.session, 1)) is Freshness.REPEATED


def test_senders_are_tracked_separately() -> None:
    to = receiver()
    assert to.admit(Stamp(7, to.session, 1)) is Freshness.NEW
    assert to.admit(Stamp(8, to.session, 1)) is Freshness.NEW


def test_the_state_per_sender_is_bounded_and_duplicates_stay_refused() -> None:
    to = receiver()
    first = to.session
    for sender in range(MAX_SENDERS):
        assert to.admit(Stamp(sender, first, 1)) is Freshness.NEW
    assert to.admit(Stamp(MAX_SENDERS, first, 1)) is Freshness.OTHER_SESSION
    assert to.session != first
    assert to.admit(Stamp(0, first, 1)) is Freshness.OTHER_SESSION
    assert to.admit(Stamp(0, to.session, 2)) is Freshness.NEW
