"""Steps that are suspended in the middle and continued."""

from __future__ import annotations

import threading

import pytest

from cauce.worker.stepper import Stepper


def test_a_step_that_is_not_suspended_gives_its_outcome() -> None:
    stepper = Stepper()
    assert stepper.run(lambda: True)
    assert not stepper.run(lambda: False)
    assert not stepper.suspended
    stepper.close()


def test_a_suspended_step_continues_where_it_was() -> None:
    stepper, seen = Stepper(), []

    def step() -> bool:
        for number in range(3):
            seen.append(number)
            stepper.suspend()
        return False

    assert stepper.run(step)
    assert stepper.suspended
    assert seen == [0]
    assert stepper.resume()
    assert stepper.resume()
    assert seen == [0, 1, 2]
    assert not stepper.resume()
    assert not stepper.suspended
    stepper.close()


def test_an_exception_of_a_step_reaches_the_caller() -> None:
    stepper = Stepper()

    def step() -> bool:
        stepper.suspend()
        raise ValueError("no such part")

    assert stepper.run(step)
    with pytest.raises(ValueError, match="no such part"):
        stepper.resume()
    assert stepper.run(lambda: True)
    stepper.close()


def test_steps_run_one_at_a_time() -> None:
    first, second, order = Stepper(), Stepper(), []

    def step(stepper: Stepper, name: str) -> bool:
        order.append(name)
        stepper.suspend()
        order.append(name)
        return True

    first.run(lambda: step(first, "first"))
    second.run(lambda: step(second, "second"))
    first.resume()
    second.resume()
    assert order == ["first", "second", "first", "second"]
    for stepper in (first, second):
        stepper.close()


def test_a_closed_stepper_leaves_no_thread() -> None:
    before = threading.active_count()
    stepper = Stepper()
    stepper.run(lambda: True)
    assert threading.active_count() == before + 1
    stepper.close()
    assert threading.active_count() == before


def test_each_stepper_has_memory_of_its_own() -> None:
    first, second = Stepper(), Stepper()
    assert first.buffer(100).size >= 100
    assert first.buffer(50) is first.buffer(100)
    assert first.buffer(100) is not second.buffer(100)
