"""A task's past is a pure function of its journal."""

from __future__ import annotations

import pytest

from cauce.errors import JobFailed
from cauce.fabric.memory import MemoryFabric
from cauce.worker.journal import Journal, Past, give_up_if_lethal


@pytest.fixture
def journal() -> Journal:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    return Journal(fabric, "j", "journal-1", 1)


def test_an_empty_journal_is_no_past(journal: Journal) -> None:
    assert journal.past() == Past()


def test_what_was_done_is_known_with_how_far_it_got(journal: Journal) -> None:
    journal.began(4)
    journal.done(4, {"s": 10}, None)
    journal.began(6)
    journal.done(6, {"s": 20, "t": 3}, 2)
    assert journal.past() == Past({4, 6}, {4: 1, 6: 1}, {"s": 20, "t": 3}, 2)


def test_a_predecessor_that_lives_on_does_not_move_the_position_back(journal: Journal) -> None:
    journal.done(6, {"s": 20}, 3)
    journal.done(4, {"s": 10}, None)
    past = journal.past()
    assert past.position == {"s": 20}
    assert past.count == 3


def test_the_last_snapshot_counts(journal: Journal) -> None:
    journal.snapshot(b"one")
    journal.snapshot(b"two")
    assert journal.past().snapshot == b"two"


def test_a_journal_that_is_off_notes_nothing() -> None:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    off = Journal(fabric, "j", "journal-1", 1, on=False)
    off.began(1)
    assert off.past() == Past()


def test_work_that_has_killed_three_workers_is_given_up(journal: Journal) -> None:
    for _ in range(3):
        journal.began(4)
    with pytest.raises(JobFailed, match="part 4 has killed its worker 3 times"):
        give_up_if_lethal(journal.past(), 4, 3, "part 4")
    give_up_if_lethal(journal.past(), 5, 3, "part 5")


def test_work_that_was_done_in_the_end_is_not_blamed(journal: Journal) -> None:
    for _ in range(3):
        journal.began(4)
    journal.done(4, {}, None)
    give_up_if_lethal(journal.past(), 4, 3, "part 4")
