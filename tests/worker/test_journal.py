"""The state of a task is a pure function of its journal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cauce.errors import FabricFull
from cauce.fabric.contract import START, Batch, Position
from cauce.fabric.memory import MemoryFabric, NoFaults, Store
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from cauce.worker.journal import Journal, JournalState


@pytest.fixture
def journal() -> Journal:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    return Journal(fabric, "j", Log("journal", "1"), 1)


def known(journal: Journal) -> JournalState:
    past = journal.replay()
    assert past is not None
    return past


def test_an_empty_journal_has_an_empty_state(journal: Journal) -> None:
    assert journal.replay() == JournalState()


def test_completions_are_read_with_their_position(journal: Journal) -> None:
    journal.began(4)
    journal.done(4, Position({"s": 10}), None)
    journal.began(6)
    journal.done(6, Position({"s": 20, "t": 3}), 2)
    assert journal.replay() == JournalState({4, 6}, {4: 1, 6: 1}, Position({"s": 20, "t": 3}), 2)


def test_a_former_holder_that_still_runs_does_not_move_the_position_back(journal: Journal) -> None:
    journal.done(6, Position({"s": 20}), 3)
    journal.done(4, Position({"s": 10}), None)
    past = journal.replay()
    assert past is not None
    assert past.position == Position({"s": 20})
    assert past.count == 3


class PassedBarrier(MemoryFabric):
    """Its read barrier came before the appends of others."""

    def read_barrier(self, job: str | None = None, *logs: str) -> None:
        pass


def test_there_is_no_state_while_an_entry_it_depends_on_is_not_visible() -> None:
    store = Store()
    MemoryFabric(store).create_job("j", b"")
    hidden = Hiding()
    first = Journal(MemoryFabric(store), "j", Log("journal", "1"), 1)
    first.replay()
    first.done(7, Position({"s": 1}), None)
    second = Journal(MemoryFabric(store), "j", Log("journal", "1"), 1)
    second.replay()
    second.done(8, Position({"s": 2}), None)
    third = Journal(PassedBarrier(store, hidden), "j", Log("journal", "1"), 1)
    assert third.replay() is None
    hidden.hides = False
    past = third.replay()
    assert past is not None
    assert past.done == {7, 8}


class Hiding(NoFaults):
    """Hides the records of the first writer that is read."""

    def __init__(self) -> None:
        self.hides = True
        self._asked = 0

    def reveal(self, where: str, count: int) -> int:
        if where == "jobs":
            return count
        self._asked += 1
        return 0 if self.hides and self._asked % 2 == 1 else count


def test_the_last_snapshot_counts(journal: Journal) -> None:
    journal.snapshot(b"one")
    journal.snapshot(b"two")
    past = journal.replay()
    assert past is not None
    assert past.snapshot == b"two"


def test_only_the_last_snapshot_is_kept_in_memory_while_a_journal_is_read() -> None:
    snapshots = Snapshots(20)
    past = known(Journal(snapshots, "j", Log("journal", "1"), 1))
    assert past.snapshot == b"19"
    assert past.snapshots == 20
    assert snapshots.most_kept <= 2, "the last one before a batch, and that of the batch"


class CountedBody(bytes):
    """A record body that counts its living instances."""

    kept = 0

    def __new__(cls, content: bytes) -> CountedBody:
        cls.kept += 1
        return super().__new__(cls, content)

    def __del__(self) -> None:
        type(self).kept -= 1


class Snapshots(MemoryFabric):
    """A journal of `count` snapshots, read one by one; tracks how many are in memory meanwhile."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.create_job("j", b"")
        self._count = count
        self.most_kept = 0

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        number = position.offset("s")
        self.most_kept = max(self.most_kept, CountedBody.kept)
        if number == self._count:
            return Batch([], position)
        return Batch([record(Kind.SNAPSHOT, 1, 0, CountedBody(b"%d" % number))], Position({"s": number + 1}))


def test_a_disabled_journal_appends_nothing() -> None:
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    off = Journal(fabric, "j", Log("journal", "1"), 1, on=False)
    off.began(1)
    assert off.replay() == JournalState()


@pytest.fixture
def journals() -> list[Journal]:
    """The journals of workers that held the task one after another."""
    fabric = MemoryFabric()
    fabric.create_job("j", b"")
    return [Journal(fabric, "j", Log("journal", "1"), 1) for _ in range(4)]


def opened(journal: Journal) -> list[int]:
    """Sequence numbers of the open starts."""
    return [seq for seq, _ in known(journal).open]


def test_starts_that_were_not_ended_are_open(journals: list[Journal]) -> None:
    *crashed, journal = journals
    for each in crashed:
        each.began(4, "part 4")
    assert opened(journal) == [4, 4, 4]
    assert {start.what for _, start in known(journal).open} == {"part 4"}


def test_a_completed_start_is_not_open(journals: list[Journal]) -> None:
    for each in journals:
        each.began(4)
    journals[0].done(4, START, None)
    assert opened(journals[0]) == []


def test_a_new_start_of_the_same_worker_closes_the_previous_one(journals: list[Journal]) -> None:
    worker, journal, *_ = journals
    worker.began(4)
    worker.began(5)
    assert opened(journal) == [5]
    worker.abort()
    assert opened(journal) == []


def test_a_start_holds_the_number_of_snapshots(journals: list[Journal]) -> None:
    one, two, journal, _ = journals
    one.began(0)
    one.snapshot(b"one")
    known(two)
    two.began(0)
    past = known(journal)
    assert [start.snapshot for _, start in past.open] == [0, 1]
    assert past.snapshots == 1


def test_a_start_that_is_suspended_stays_one_start(journals: list[Journal]) -> None:
    one, two = journals[:2]
    one.began(4, "part 4")
    for _ in range(2):
        one.suspend()
    past = known(two)
    assert past.starts == {4: 1}
    assert [start.suspended for _, start in past.open] == [True]
    one.began(4, "part 4")
    assert [start.suspended for _, start in known(two).open] == [False]
    one.abort()
    assert opened(two) == []


def test_an_aborted_start_is_not_counted(journals: list[Journal]) -> None:
    one, two, three, journal = journals
    for each in (one, two, three):
        each.began(4)
    two.abort()
    assert known(journal).starts == {4: 2}
    two.abort()
    three.began(4)
    assert known(journal).starts == {4: 2}, "aborted twice, or started again by the same holder"
    two.began(4)
    assert known(journal).starts == {4: 3}
    journal.abort()
    assert known(journal).starts == {4: 3}, "there was no current start"


def test_a_duplicate_record_counts_once() -> None:
    fabric = Stuttering()
    fabric.create_job("j", b"")
    journal = Journal(fabric, "j", Log("journal", "1"), 1)
    journal.began(4)
    assert known(journal).starts == {4: 1}
    journal.abort()
    assert known(journal).starts == {}


def test_a_start_that_could_not_be_appended_is_appended_on_retry() -> None:
    fabric = Full()
    fabric.create_job("j", b"")
    journal = Journal(fabric, "j", Log("journal", "1"), 1)
    with pytest.raises(FabricFull):
        journal.began(4)
    assert known(journal).starts == {}
    fabric.full = False
    journal.began(4)
    assert known(journal).starts == {4: 1}


class Full(MemoryFabric):
    full = True

    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        if self.full:
            raise FabricFull("no room")
        super().append(job, log, records)


class Stuttering(MemoryFabric):
    def append(self, job: str, log: Log, records: Sequence[Record]) -> None:
        super().append(job, log, [*records, *records])
