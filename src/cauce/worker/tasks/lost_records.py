"""Detects input that the fabric has lost: a producer has closed its output with more records than its log holds.

A producer closes its output after all its records are confirmed, so a read barrier makes them visible. Must never
report records that are only late: a log is judged after two read barriers, and after it was read again from its start.
"""

from __future__ import annotations

from cauce.errors import CorruptRecord
from cauce.fabric.contract import START, Fabric
from cauce.fabric.names import Log
from cauce.job.completion import Names
from cauce.job.log_reader import LogReader

PASSES = 2
"""How often a log is read to its end after a read barrier before records count as lost."""


class LossCheck:
    """The passes over one input whose producers have closed their output. Only those that had closed it before a pass
    began are judged after it."""

    def __init__(self) -> None:
        self._suspects: frozenset[int] = frozenset()
        self._passes = 0

    def reads_again(self, fabric: Fabric, job: str, names: Names, reader: LogReader) -> bool:
        """Call it when no further record is visible. True if the log must be read on, false if it is not complete for
        another reason. Raises CorruptRecord if records are lost."""
        short = names.closed_and_short()
        suspects = self._suspects & short
        if not suspects:
            suspects, self._passes = short, 0
        self._suspects = suspects
        if not suspects:
            return False
        if self._passes == PASSES:
            raise lost_records(reader.log, job, names)
        self._passes += 1
        reader.read_barrier(fabric, job)
        if self._passes == PASSES:
            # Duplicates are dropped, and the reader of the fabric starts afresh.
            reader.position = START
        return True


class RepeatedReads:
    """Counts the reads in a row, each after a read barrier, that did not find the records of an earlier read."""

    def __init__(self) -> None:
        self._failed = 0

    def failed(self, log: Log, job: str, names: Names) -> None:
        """Raises CorruptRecord if the records are lost."""
        if self._failed == PASSES:
            raise lost_records(log, job, names)
        self._failed += 1

    def succeeded(self) -> None:
        self._failed = 0


def lost_records(log: Log, job: str, names: Names) -> CorruptRecord:
    return CorruptRecord(
        f"log {log} of job {job} does not hold all records that were confirmed in it, as after a power failure: "
        f"{names.missing()}; run the job again"
    )
