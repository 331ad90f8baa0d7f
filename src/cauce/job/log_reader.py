"""Reads on in a log: the position of one reader, the loop up to the last visible record, and the read barrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cauce.fabric.contract import START, Batch, Fabric, Log, Position
from cauce.fabric.records import Record

READ_BYTES = 4 << 20


class LogReader:
    """The position of one reader in a log. It moves only past records that the caller has processed: after an error
    they are read again. Delivery is at least once anyway: pass the records through `Names.fresh` to deduplicate them,
    or fold them into a state that does not change with duplicates."""

    def __init__(self, log: Log, limit_bytes: int = READ_BYTES, position: Position = START) -> None:
        self.log = log
        self.position = position
        self._limit_bytes = limit_bytes

    def read(self, fabric: Fabric, job: str, process: Callable[[Sequence[Record]], object]) -> bool:
        """Processes the next batch; false if nothing after the position is visible. A batch may hold no records: those
        after the position may belong to other logs of the group."""
        batch = next(self.batches(fabric, job), None)
        if batch is None:
            return False
        process(batch.records)
        self.position = batch.position
        return True

    def batches(self, fabric: Fabric, job: str) -> Iterator[Batch]:
        """All batches up to the last visible record. The position moves past a batch when the next one is requested."""
        while True:
            batch = fabric.read(job, self.log, self.position, self._limit_bytes)
            if batch.position == self.position:
                return
            yield batch
            self.position = batch.position

    def records(self, fabric: Fabric, job: str) -> Iterator[Record]:
        """All records up to the last visible one."""
        for batch in self.batches(fabric, job):
            yield from batch.records

    def read_barrier(self, fabric: Fabric, job: str) -> None:
        """Everything confirmed to any process before this call is visible to later reads of this log."""
        fabric.read_barrier(job, self.log)
