"""Process names and timing options."""

from __future__ import annotations

import pytest

from cauce.doctor.model.messages import Epoch, Generation, generation_of
from cauce.doctor.model.names import check_host, host_of, in_order, name_of, order_of, role_of
from cauce.doctor.model.timing import Timing, timing_of
from cauce.errors import UsageError


def test_a_name_contains_role_number_and_host() -> None:
    assert order_of(name_of("worker", 12, "b-2")) == ("worker", 12, "b-2")
    assert role_of("doctor-1") == "doctor"
    assert host_of("doctor-1") == ""


@pytest.mark.parametrize("name", ["", "worker", "worker-0", "worker-x", "king-1", "worker-1@", "worker-1@B", "../x"])
def test_an_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(UsageError, match="invalid process name"):
        order_of(name)


def test_names_are_sorted_by_number() -> None:
    assert in_order(["worker-10", "doctor-2", "worker-9"]) == ["doctor-2", "worker-9", "worker-10"]


def test_an_invalid_host_label_is_rejected() -> None:
    with pytest.raises(UsageError, match="label"):
        check_host("Über")


@pytest.mark.parametrize("of", [Generation(), Generation(Epoch(12, "doctor-3@b"), 1_794_800_863_085)])
def test_a_generation_is_parsed_as_it_is_formatted(of: Generation) -> None:
    assert generation_of(str(of)) == of


def test_generations_are_ordered_by_epoch_and_then_by_launch() -> None:
    early, later = Epoch(1, "doctor-3"), Epoch(2, "doctor-1")
    assert Generation() < Generation(early, 9) < Generation(early, 10) < Generation(later, 1)


def test_timing_is_set_by_name() -> None:
    assert timing_of(["hung=5", "backoff=9"]) == Timing(hung=5.0, backoff=9.0)


@pytest.mark.parametrize("text", ["hung", "hung=x", "king=1", "hung=0", "hung=-1", "hung=nan"])
def test_invalid_timing_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="--timing"):
        timing_of([text])
