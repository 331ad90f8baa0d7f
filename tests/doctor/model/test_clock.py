"""The clock that excludes pauses of its own process."""

from __future__ import annotations

from cauce.doctor.model.clock import PauseAwareClock


def test_it_counts_time_while_the_process_runs() -> None:
    clock = PauseAwareClock(0.4)
    for time_s in (10.0, 10.1, 10.3, 10.6):
        clock.advance(time_s)
    assert round(clock.now, 6) == 0.6


def test_it_excludes_pauses_of_the_process() -> None:
    clock = PauseAwareClock(0.4)
    clock.advance(10.0)
    clock.advance(40.0)
    assert clock.now == 0.4


def test_it_is_monotonic() -> None:
    clock = PauseAwareClock(0.4)
    clock.advance(10.0)
    clock.advance(9.0)
    assert clock.now == 0.0
