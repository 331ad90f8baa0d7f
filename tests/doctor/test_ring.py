"""Who looks after whom."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cauce.doctor.names import ROLES, name_of
from cauce.doctor.ring import places

names = st.sets(
    st.builds(name_of, st.sampled_from(ROLES), st.integers(1, 30), st.sampled_from(["", "a", "b"])), min_size=2
)


@given(names)
def test_everybody_is_looked_after_by_exactly_one_other(given: set[str]) -> None:
    found = places(given)
    assert found.keys() == given
    assert sorted(place.predecessor for place in found.values()) == sorted(given)
    assert all(found[place.successor].predecessor == name for name, place in found.items())
    assert all(place.predecessor != name for name, place in found.items())


def test_it_goes_by_number_and_not_by_letters() -> None:
    found = places(["worker-10", "worker-9", "worker-1"])
    assert found["worker-10"].predecessor == "worker-9"
    assert found["worker-1"].predecessor == "worker-10"


def test_one_alone_has_no_neighbour() -> None:
    assert places(["worker-1"]) == {}
