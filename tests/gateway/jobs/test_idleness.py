"""Expiry of idle jobs, by the wall clock and by the monotonic clock."""

from __future__ import annotations

import pytest

from cauce.gateway.jobs.idleness import STEP_ACCEPTED_S, Expiry, Idleness
from tests.gateway.serving import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def idleness(clock: Clock) -> Idleness:
    return Idleness(clock, clock.monotonic)


def upload(expires: float, parts: int = 0) -> Expiry:
    return Expiry(expires, 600.0, 600.0, parts)


def answers(expires: float) -> Expiry:
    return Expiry(expires, 86_400.0, 600.0)


def test_a_job_is_overdue_when_its_time_has_passed(clock: Clock, idleness: Idleness) -> None:
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 599
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 1
    assert idleness.is_overdue("a", upload(1600.0))


def test_a_clock_set_forward_makes_nothing_overdue(clock: Clock, idleness: Idleness) -> None:
    idleness.is_overdue("a", upload(1600.0))
    clock.jump(600)
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 600
    assert idleness.is_overdue("a", upload(1600.0))


def test_a_clock_set_back_delays_by_as_much(clock: Clock, idleness: Idleness) -> None:
    idleness.is_overdue("a", upload(1600.0))
    clock.jump(-300)
    clock.now += 899
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 1
    assert idleness.is_overdue("a", upload(1600.0))


def test_a_job_read_for_the_first_time_is_observed_first(clock: Clock, idleness: Idleness) -> None:
    clock.now += 10_000
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 600
    assert idleness.is_overdue("a", upload(1600.0))


def test_activity_restarts_the_observation(clock: Clock, idleness: Idleness) -> None:
    idleness.is_overdue("a", upload(1600.0))
    clock.now += 599
    idleness.is_overdue("a", upload(2199.0))
    clock.now += 1
    assert not idleness.is_overdue("a", upload(2199.0))


def test_deleted_jobs_are_no_longer_observed(clock: Clock, idleness: Idleness) -> None:
    idleness.is_overdue("a", upload(1600.0))
    idleness.keep_only(["b"])
    clock.now += 600
    assert not idleness.is_overdue("a", upload(1600.0))


def test_a_step_forward_does_not_delay_jobs_that_come_after_it(clock: Clock, idleness: Idleness) -> None:
    clock.jump(1_000_000)
    expires = clock.now + 600
    assert not idleness.is_overdue("a", upload(expires))
    clock.now += 599
    assert not idleness.is_overdue("a", upload(expires))
    clock.now += 1
    assert idleness.is_overdue("a", upload(expires))


def test_a_step_forward_does_not_shorten_the_time_of_answers(clock: Clock, idleness: Idleness) -> None:
    expires = clock.now + 86_400
    assert not idleness.is_overdue("a", answers(expires))
    clock.jump(1_000_000)
    clock.now += 86_399
    assert not idleness.is_overdue("a", answers(expires))
    clock.now += 1
    assert idleness.is_overdue("a", answers(expires))


def test_a_step_back_delays_by_the_limit_at_most(clock: Clock, idleness: Idleness) -> None:
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.jump(-1_000_000)
    clock.now += 1199
    assert not idleness.is_overdue("a", upload(1600.0))
    clock.now += 1
    assert idleness.is_overdue("a", upload(1600.0))


def test_after_the_clock_is_set_back_an_active_upload_does_not_expire(clock: Clock, idleness: Idleness) -> None:
    clock.jump(-1_000_000)
    for parts in range(10):
        assert not idleness.is_overdue("a", upload(1600.0, parts))
        clock.now += 500


def test_a_wall_clock_that_stays_ahead_is_accepted(clock: Clock, idleness: Idleness) -> None:
    clock.jump(1_000_000)
    assert idleness.now() == clock.now - 1_000_000
    clock.now += STEP_ACCEPTED_S - 1
    assert idleness.now() == clock.now - 1_000_000
    clock.now += 1
    assert idleness.now() == clock.now
