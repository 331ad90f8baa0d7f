"""The attentive clock."""

from __future__ import annotations

from cauce.doctor.clock import AttentiveClock


def test_it_runs_with_its_owner() -> None:
    clock = AttentiveClock(0.4)
    for time_s in (10.0, 10.1, 10.3, 10.6):
        clock.advance(time_s)
    assert round(clock.now, 6) == 0.6


def test_it_stands_still_while_its_owner_does() -> None:
    clock = AttentiveClock(0.4)
    clock.advance(10.0)
    clock.advance(40.0)
    assert clock.now == 0.4
    assert round(clock.missed, 6) == 29.6


def test_it_never_goes_back() -> None:
    clock = AttentiveClock(0.4)
    clock.advance(10.0)
    clock.advance(9.0)
    assert clock.now == 0.0
