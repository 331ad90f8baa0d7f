"""Owners get equal time, independent of the number and length of their turns."""

from __future__ import annotations

from collections import Counter

import pytest

from cauce.worker.fair_share import FairShare


def times_used(costs: dict[str, float], turns: int, share: FairShare | None = None) -> Counter[str]:
    """The time that each owner has used after `turns` turns of the given costs."""
    share = share or FairShare()
    used: Counter[str] = Counter()
    for _ in range(turns):
        owner = share.next_of(costs)
        share.charge(owner, costs[owner])
        used[owner] += costs[owner]  # type: ignore[assignment]
    return used


def test_an_owner_with_long_turns_gets_no_more_time() -> None:
    used = times_used({"heavy": 1.0, "light": 0.01}, 1_010)
    assert used["heavy"] == pytest.approx(used["light"], rel=0.15)


def test_idle_time_earns_no_credit() -> None:
    share = FairShare()
    times_used({"busy": 1.0}, 100, share)
    used = times_used({"busy": 1.0, "late": 1.0}, 10, share)
    assert used == {"busy": 5.0, "late": 5.0}


def test_an_owner_that_was_idle_is_next() -> None:
    share = FairShare()
    times_used({"a": 1.0, "b": 1.0}, 11, share)
    assert share.next_of(["a", "b", "new"]) in ("b", "new")
    share.charge("b", 1.0)
    assert share.next_of(["a", "b", "new"]) == "new"


def test_owners_without_jobs_are_forgotten() -> None:
    share = FairShare()
    times_used({f"owner {number}": 1.0 for number in range(50)}, 50, share)
    share.keep_only({"owner 7"})
    assert list(share._used) == ["owner 7"]
