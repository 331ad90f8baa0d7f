"""Reading answers and reports again."""

from __future__ import annotations

import pytest

from cauce.errors import CorruptRecord
from cauce.fabric.contract import Batch, Position
from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from cauce.gateway.jobs import output_logs
from cauce.gateway.jobs.output_logs import NumberedLog, RecordFetcher, RecordLocation
from cauce.job.completion import Names

LOG = Log("home", "answer")
COUNT = 40


class Counted(MemoryFabric):
    reads = 0

    def read(self, job: str, log: Log, position: Position, limit_bytes: int) -> Batch:
        self.reads += 1
        return super().read(job, log, position, limit_bytes)


def page(seq: int) -> Record:
    return record(Kind.DATA, 0, seq, bytes([seq]) * 8_000)


@pytest.fixture
def fabric() -> Counted:
    made = Counted(Store())
    made.create_job("j", b"")
    # Several workers append in any order.
    for seq in sorted(range(COUNT), key=lambda seq: seq * 7 % COUNT):
        made.append("j", LOG, [page(seq)])
    return made


@pytest.fixture
def log() -> NumberedLog:
    return NumberedLog(LOG, Names("the answer", (0,)))


def locations(fabric: Counted, log: NumberedLog) -> list[RecordLocation]:
    found = [RecordLocation(each.seq, before, after, 1) for each, before, after in log.fresh(fabric, "j")]
    return sorted(found, key=lambda place: place.seq)


def test_each_batch_of_an_answer_is_read_once(fabric: Counted, log: NumberedLog) -> None:
    places = locations(fabric, log)
    first, fabric.reads = fabric.reads, 0
    fetcher = RecordFetcher(fabric, "j")
    assert [fetcher.fetch(log, place) for place in places] == [page(seq) for seq in range(COUNT)]
    # The first time, one read more found that there was nothing left.
    assert fabric.reads == first - 1


def test_pages_of_two_lanes_are_read_once_though_one_lane_is_ahead(
    log: NumberedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was fetched makes room for what was read with it."""
    monkeypatch.setattr(output_logs, "KEPT_BYTES", 200_000)
    fabric = Counted(Store())
    fabric.create_job("j", b"")
    for seq in (*range(0, COUNT, 2), *range(1, COUNT, 2)):
        fabric.append("j", LOG, [page(seq)])
    places = locations(fabric, log)
    first, fabric.reads = fabric.reads, 0
    fetcher = RecordFetcher(fabric, "j")
    assert [fetcher.fetch(log, place) for place in places] == [page(seq) for seq in range(COUNT)]
    assert fabric.reads == first - 1


def test_kept_batches_are_bounded(fabric: Counted, log: NumberedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_logs, "KEPT_BYTES", 100_000)
    fetcher = RecordFetcher(fabric, "j")
    for place in locations(fabric, log):
        fetcher.fetch(log, place)
        assert sum(len(each.body) for each in fetcher._kept.values()) <= 100_000 + output_logs._FEW_BYTES


def test_a_lost_record_is_reported(fabric: Counted, log: NumberedLog) -> None:
    place = locations(fabric, log)[-1]
    lost = RecordLocation(COUNT, place.before, place.after, 1)
    with pytest.raises(CorruptRecord, match=f"record {COUNT} of log {LOG} of job j is lost"):
        RecordFetcher(fabric, "j").fetch(log, lost)
