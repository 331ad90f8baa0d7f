"""Neighbours in ring mode."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cauce.doctor.election.ring import neighbours
from cauce.doctor.model.names import ROLES, name_of

names = st.sets(
    st.builds(name_of, st.sampled_from(ROLES), st.integers(1, 30), st.sampled_from(["", "a", "b"])), min_size=2
)


@given(names)
def test_each_process_is_monitored_by_exactly_one_other(given: set[str]) -> None:
    found = neighbours(given)
    assert found.keys() == given
    assert sorted(place.predecessor for place in found.values()) == sorted(given)
    assert all(found[place.successor].predecessor == name for name, place in found.items())
    assert all(place.predecessor != name for name, place in found.items())


def test_neighbours_are_sorted_by_number_not_alphabetically() -> None:
    found = neighbours(["worker-10", "worker-9", "worker-1"])
    assert found["worker-10"].predecessor == "worker-9"
    assert found["worker-1"].predecessor == "worker-10"


def test_a_single_process_has_no_neighbour() -> None:
    assert neighbours(["worker-1"]) == {}
