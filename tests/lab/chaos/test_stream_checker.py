"""The checker of streams finds each kind of error that is planted into a history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cauce.lab.chaos.stream_checker import Entry, History, check

IN_ORDER: tuple[Entry, ...] = ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2))
GOOD = History({0: 3, 1: 3}, frozenset(IN_ORDER), IN_ORDER, (IN_ORDER[:3], IN_ORDER))


def test_a_good_history_is_exact() -> None:
    found = check(GOOD)
    assert found.is_exact
    assert (found.confirmed, found.unconfirmed, found.stored) == (5, 1, 0)


def test_an_unconfirmed_record_may_be_stored() -> None:
    found = check(replace(GOOD, final=(*IN_ORDER, (1, 2))))
    assert found.is_exact
    assert found.stored == 1


def test_duplicates_are_counted_and_allowed() -> None:
    found = check(replace(GOOD, final=(*IN_ORDER, (0, 0), (0, 0))))
    assert found.is_exact
    assert found.duplicated == 2


@pytest.mark.parametrize(
    ("kind", "history"),
    [
        ("lost", replace(GOOD, final=IN_ORDER[:-1], others=())),
        ("reordered", replace(GOOD, final=((0, 1), (1, 0), (0, 0), (1, 1), (0, 2)), others=())),
        ("phantom", replace(GOOD, final=(*IN_ORDER, (1, 3)))),
        ("phantom", replace(GOOD, final=(*IN_ORDER, (-1, -1)))),
        ("diverged", replace(GOOD, others=(IN_ORDER, ((1, 0), (0, 0))))),
        ("diverged", replace(GOOD, others=((*IN_ORDER, (1, 2)),))),
    ],
)
def test_a_planted_error_is_found(kind: str, history: History) -> None:
    found = check(history)
    assert getattr(found, kind) == 1
    assert not found.is_exact
