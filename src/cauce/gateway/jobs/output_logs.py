"""The logs that workers write for clients: pages of answers, and reports with rejects. Each record is counted once, and
is read again from the log on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from cauce.api.jobs import AnswerStatus
from cauce.errors import CorruptRecord
from cauce.fabric.contract import Fabric, Log, Position
from cauce.fabric.records import Kind, Record
from cauce.job.completion import InOrder, Names
from cauce.job.frames import load_frame
from cauce.job.log_reader import LogReader
from cauce.job.manifest import StoredAnswer, StoredLog
from cauce.job.part_codec import load_report

_FEW_BYTES = 1 << 16
"""Bytes per read: some hundred reports, or one page of an answer. Fetching one record reads this much."""
KEPT_BYTES = 4 << 20
"""Bytes of read records that a request keeps, besides the last batch."""


@dataclass(frozen=True)
class RecordLocation:
    """Where a record can be read again: between two positions of a reader of its log."""

    seq: int
    before: Position
    after: Position
    rows: int
    file: str = ""


class NumberedLog:
    """A log of numbered records: which were received, which are missing, and where each can be read again."""

    def __init__(self, log: Log, names: Names) -> None:
        self.log = log
        self.names = names
        self._reader = LogReader(log, _FEW_BYTES)

    def fresh(self, fabric: Fabric, job: str) -> Iterator[tuple[Record, Position, Position]]:
        """Reads new records, without duplicates, each with the positions before and after its batch."""
        if self.names.complete:
            return
        before = self._reader.position
        for batch in self._reader.batches(fabric, job):
            for each in self.names.fresh(batch.records):
                yield each, before, batch.position
            before = batch.position

    def reader_at(self, place: RecordLocation) -> LogReader:
        return LogReader(self.log, _FEW_BYTES, self._reader.position.rewind(place.before, place.after))


class RecordFetcher:
    """Reads records of a job's logs again, for one request. It keeps the last batches: those of neighbouring records
    are the same, and to read one may cost a new subscription to a stream."""

    def __init__(self, fabric: Fabric, job: str) -> None:
        self._fabric = fabric
        self._job = job
        self._kept: dict[tuple[Log, int], Record] = {}
        self._kept_bytes = 0

    def fetch(self, log: NumberedLog, place: RecordLocation) -> Record:
        wanted = log.log, place.seq
        reader = log.reader_at(place)
        if wanted not in self._kept and not self._find(reader, wanted):
            # Records of other processes may not be visible yet.
            reader.read_barrier(self._fabric, self._job)
            if not self._find(reader, wanted):
                raise CorruptRecord(
                    f"record {place.seq} of log {log.log} of job {self._job} is lost: run the job again"
                )
        # A request needs a record once: others that were read with it stay longer.
        found = self._kept.pop(wanted)
        self._kept_bytes -= len(found.body)
        return found

    def _find(self, reader: LogReader, wanted: tuple[Log, int]) -> bool:
        """Reads on up to the batch with the wanted record; false if there is none."""
        for batch in reader.batches(self._fabric, self._job):
            self._keep(reader.log, batch.records)
            if wanted in self._kept:
                return True
        return False

    def _keep(self, log: Log, records: Sequence[Record]) -> None:
        if self._kept_bytes > KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = 0
        for each in records:
            # The first record of an identity counts: a page that was shown never changes.
            if each.kind == Kind.DATA and (log, each.seq) not in self._kept:
                self._kept[log, each.seq] = each
                self._kept_bytes += len(each.body)


class AnswerLog(NumberedLog):
    """The pages of an answer, in order, up to the first gap."""

    def __init__(self, query: str, stored: StoredAnswer) -> None:
        super().__init__(stored.log, Names(f"the answer of {query}", stored.producers))
        self.columns = stored.outputs()
        self.pages: list[RecordLocation] = []
        self.rows = 0
        self._order: InOrder[RecordLocation] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> None:
        for each, before, after in self.fresh(fabric, job):
            place = RecordLocation(each.seq, before, after, load_frame(each.body).height)
            for ready in self._order.take(each.seq, place):
                self.pages.append(ready)
                self.rows += ready.rows

    def page(self, fetcher: RecordFetcher, number: int) -> pl.DataFrame:
        return load_frame(fetcher.fetch(self, self.pages[number]).body)

    @property
    def status(self) -> AnswerStatus:
        return AnswerStatus(len(self.pages), self.rows, self.names.complete)


class ReportLog(NumberedLog):
    """The reports on the parts of a table. Rejects are re-read from the log on request."""

    def __init__(self, table: str, stored: StoredLog) -> None:
        super().__init__(stored.log, Names(f"table {table}", stored.producers))
        self.seqs: set[int] = set()
        self.rows = 0
        self.rejected = 0
        self.rejects: list[RecordLocation] = []
        """Locations of the parts with rejects, by part number up to the first gap."""
        self._order: InOrder[RecordLocation] = InOrder()

    def advance(self, fabric: Fabric, job: str) -> list[int]:
        """Reads new reports; returns the numbers of their parts."""
        news: list[int] = []
        for each, before, after in self.fresh(fabric, job):
            report = load_report(each.body)
            news.append(each.seq)
            self.rows += report.rows
            self.rejected += report.rejected
            file = load_frame(report.rejects)["file"][0] if report.rejected else ""
            place = RecordLocation(each.seq, before, after, report.rejected, file)
            for ready in self._order.take(each.seq, place):
                if ready.rows:
                    self.rejects.append(ready)
        self.seqs.update(news)
        return news

    def frame(self, fetcher: RecordFetcher, place: RecordLocation) -> pl.DataFrame:
        return load_frame(load_report(fetcher.fetch(self, place).body).rejects)
