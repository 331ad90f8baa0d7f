"""A task's past is a pure function of its journal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cauce.errors import FabricFull, JobFailed
from cauce.fabric.memory import MemoryFabric, NoFaults, Store
from cauce.wire.records import Record
from cauce.worker.journal import Journal, Past, give_up_if_lethal


@pytest.fixture
def journal() -> Journal:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    return Journal(fabric, "j", "journal-1", 1)


def known(journal: Journal) -> Past:
    past = journal.past()
    assert past is not None
    return past


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
    assert past is not None
    assert past.position == {"s": 20}
    assert past.count == 3


def test_a_past_that_is_not_all_to_be_seen_yet_is_no_past() -> None:
    store = Store()
    MemoryFabric(store).create_job("j", b"")
    hidden = Hiding()
    first = Journal(MemoryFabric(store), "j", "journal-1", 1)
    first.past()
    first.done(7, {"s": 1}, None)
    second = Journal(MemoryFabric(store), "j", "journal-1", 1)
    second.past()
    second.done(8, {"s": 2}, None)
    third = Journal(MemoryFabric(store, hidden), "j", "journal-1", 1)
    assert third.past() is None
    hidden.hides = False
    past = third.past()
    assert past is not None
    assert past.done == {7, 8}


class Hiding(NoFaults):
    """Shows nothing of the first writer that is asked for."""

    def __init__(self) -> None:
        self.hides = True
        self._asked = 0

    def reveal(self, where: str, count: int) -> int:
        self._asked += 1
        return 0 if self.hides and self._asked % 2 == 1 else count


def test_the_last_snapshot_counts(journal: Journal) -> None:
    journal.snapshot(b"one")
    journal.snapshot(b"two")
    past = journal.past()
    assert past is not None
    assert past.snapshot == b"two"


def test_a_journal_that_is_off_notes_nothing() -> None:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    off = Journal(fabric, "j", "journal-1", 1, on=False)
    off.began(1)
    assert off.past() == Past()


@pytest.fixture
def journals() -> list[Journal]:
    """Of workers that had the task one after another."""
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    return [Journal(fabric, "j", "journal-1", 1) for _ in range(4)]


def test_work_that_has_killed_three_workers_is_given_up(journals: list[Journal]) -> None:
    *dead, journal = journals
    for each in dead:
        each.began(4)
    with pytest.raises(JobFailed, match="part 4 has killed its worker 3 times"):
        give_up_if_lethal(known(journal), 4, 3, "part 4")
    give_up_if_lethal(known(journal), 5, 3, "part 5")


def test_work_that_was_done_in_the_end_is_not_blamed(journals: list[Journal]) -> None:
    for each in journals:
        each.began(4)
    journals[0].done(4, {}, None)
    give_up_if_lethal(known(journals[0]), 4, 3, "part 4")


def test_work_that_its_worker_broke_off_and_survived_is_not_blamed(journals: list[Journal]) -> None:
    one, two, three, journal = journals
    for each in (one, two, three):
        each.began(4)
    two.break_off()
    assert known(journal).begun == {4: 2}
    two.break_off()
    three.began(4)
    assert known(journal).begun == {4: 2}, "said twice, or begun again by who is at it"
    two.began(4)
    assert known(journal).begun == {4: 3}
    journal.break_off()
    assert known(journal).begun == {4: 3}, "nothing was under way"


def test_a_record_that_came_twice_counts_once() -> None:
    fabric = Stuttering()
    fabric.create_job("j", b"")
    journal = Journal(fabric, "j", "journal-1", 1)
    journal.began(4)
    assert known(journal).begun == {4: 1}
    journal.break_off()
    assert known(journal).begun == {}


def test_what_could_not_be_noted_is_noted_when_it_is_begun_again() -> None:
    fabric = Full()
    fabric.create_job("j", b"")
    journal = Journal(fabric, "j", "journal-1", 1)
    with pytest.raises(FabricFull):
        journal.began(4)
    assert known(journal).begun == {}
    fabric.full = False
    journal.began(4)
    assert known(journal).begun == {4: 1}


class Full(MemoryFabric):
    full = True

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        if self.full:
            raise FabricFull("no room")
        super().append(job, log, records)


class Stuttering(MemoryFabric):
    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        super().append(job, log, [*records, *records])
