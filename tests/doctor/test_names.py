"""What processes are called, and the times that doctors judge by."""

from __future__ import annotations

import pytest

from cauce.doctor.messages import Epoch, Incarnation, incarnation_of
from cauce.doctor.names import check_host, host_of, in_order, name_of, order_of, role_of
from cauce.doctor.timing import Timing, timing_of
from cauce.errors import UsageError


def test_a_name_tells_role_number_and_host() -> None:
    assert order_of(name_of("worker", 12, "b-2")) == ("worker", 12, "b-2")
    assert role_of("doctor-1") == "doctor"
    assert host_of("doctor-1") == ""


@pytest.mark.parametrize("name", ["", "worker", "worker-0", "worker-x", "king-1", "worker-1@", "worker-1@B", "../x"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no process"):
        order_of(name)


def test_names_are_in_the_order_of_their_numbers() -> None:
    assert in_order(["worker-10", "doctor-2", "worker-9"]) == ["doctor-2", "worker-9", "worker-10"]


def test_a_host_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="label"):
        check_host("Über")


@pytest.mark.parametrize("of", [Incarnation(), Incarnation(Epoch(12, "doctor-3@b"), 1_794_800_863_085)])
def test_an_incarnation_is_read_as_it_is_written(of: Incarnation) -> None:
    assert incarnation_of(str(of)) == of


def test_incarnations_are_ordered_by_epoch_and_then_by_launch() -> None:
    early, later = Epoch(1, "doctor-3"), Epoch(2, "doctor-1")
    assert Incarnation() < Incarnation(early, 9) < Incarnation(early, 10) < Incarnation(later, 1)


def test_times_are_given_by_name() -> None:
    assert timing_of(["hung=5", "backoff=9"]) == Timing(hung=5.0, backoff=9.0)


@pytest.mark.parametrize("text", ["hung", "hung=x", "king=1", "hung=0", "hung=-1", "hung=nan"])
def test_times_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--timing"):
        timing_of([text])
