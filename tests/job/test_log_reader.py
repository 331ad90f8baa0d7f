"""One reader of a log: every record once or more, none skipped, whatever fails between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from cauce.job.completion import Names
from cauce.job.log_reader import LogReader


@pytest.fixture
def fabric() -> MemoryFabric:
    fabric = MemoryFabric(Store())
    fabric.create_job("j", b"{}")
    return fabric


def append(fabric: MemoryFabric, *seqs: int) -> None:
    fabric.append("j", Log("log"), [record(Kind.DATA, 1, seq, b"x" * 100) for seq in seqs])


def seqs(records: Sequence[Record]) -> list[int]:
    return [each.seq for each in records]


def test_records_reads_all_batches_and_then_only_new_ones(fabric: MemoryFabric) -> None:
    append(fabric, *range(5))
    reader = LogReader(Log("log"), limit_bytes=150)
    assert seqs(list(reader.records(fabric, "j"))) == [0, 1, 2, 3, 4]
    append(fabric, 5)
    assert seqs(list(reader.records(fabric, "j"))) == [5]


def test_read_processes_one_batch(fabric: MemoryFabric) -> None:
    append(fabric, 0, 1)
    reader = LogReader(Log("log"), limit_bytes=100)
    found: list[Record] = []
    assert reader.read(fabric, "j", found.extend)
    assert seqs(found) == [0]
    assert reader.read(fabric, "j", found.extend)
    assert not reader.read(fabric, "j", found.extend)
    assert seqs(found) == [0, 1]


def test_records_whose_processing_failed_are_read_again(fabric: MemoryFabric) -> None:
    append(fabric, 0)
    reader = LogReader(Log("log"))

    def fail(records: Sequence[Record]) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        reader.read(fabric, "j", fail)
    assert seqs(list(reader.records(fabric, "j"))) == [0]


def test_a_batch_that_was_left_in_the_middle_is_read_again(fabric: MemoryFabric) -> None:
    append(fabric, 0, 1)
    reader = LogReader(Log("log"))
    assert next(reader.records(fabric, "j")).seq == 0
    assert seqs(list(reader.records(fabric, "j"))) == [0, 1]


def test_fresh_records_are_deduplicated_and_counted(fabric: MemoryFabric) -> None:
    append(fabric, 0, 1)
    append(fabric, 1)
    fabric.append("j", Log("log"), [record(Kind.END, 1, 2)])
    names = Names("log", [1])
    assert seqs(list(names.fresh(LogReader(Log("log")).records(fabric, "j")))) == [0, 1]
    assert names.complete
