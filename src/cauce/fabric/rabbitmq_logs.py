"""Logs over the session: appends that are confirmed or told to be lost, and reads that miss nothing confirmed to us.

A message that comes back unrouted means that its stream is not there: not yet, or not any more. Which of the two, the
registry says; only then may records be dropped.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.contract import Batch, Position, Saying
from cauce.fabric.names import shelf_of
from cauce.fabric.rabbitmq_queues import stream_name
from cauce.fabric.rabbitmq_registry import Fact, Job, Made, Remake, Shelves
from cauce.fabric.rabbitmq_session import Session
from cauce.fabric.rabbitmq_writer import Letter
from cauce.wire.records import Record

_RETRY_S = 0.01
ALIVE_S = 4.0
"""A stream that was just made and takes no message for so long is not waited for any more."""

ByLog = dict[str, list[Record]]


class Logs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, name: str, sayings: Sequence[Saying], deadline: float) -> None:
        left: ByLog = {}
        for log, records in sayings:
            if records:
                left.setdefault(log, []).extend(records)
        while left:
            job = self._session.find_surely(name, deadline)
            left = {} if job is None else {log: records for log, records in left.items() if job.takes(log)}
            if job is not None and left and self._register(job, left, deadline):
                left = self._say(job, left, deadline)

    def read(self, name: str, log: str, position: Position, limit_bytes: int, deadline: float) -> Batch:
        session = self._session
        job = session.find(name)
        if job is None or not self._is_there(job, log):
            return Batch([], dict(position))
        session.keep_few_readers()
        return session.shelf(job, log).read(
            log,
            position,
            limit_bytes,
            deadline,
            alive=lambda: session.find(name) is job and job.takes(log),
            remind=lambda: self._remind(job, [log], deadline),
        )

    def catch_up(self, name: str, logs: Sequence[str], deadline: float) -> None:
        """Says something in the logs' streams: whoever has read that has read all that was confirmed before."""
        session = self._session
        job = session.find_surely(name, deadline)
        if job is None:
            return
        if not all(self._is_there(job, log) for log in logs):
            session.catch_up(deadline)
        self._remind(job, [log for log in logs if self._is_there(job, log)], deadline)

    def _is_there(self, job: Job, log: str) -> bool:
        return job.takes(log) and shelf_of(log) in job.made

    def _register(self, job: Job, left: ByLog, deadline: float) -> bool:
        """The registry knows of a stream before it is made, and nothing is written to it before it says that it is.
        False if the job has ended by then."""
        needed = {shelf_of(log) for log in left}
        if needed <= job.made:
            return True
        if unknown := sorted(needed - job.shelves):
            self._session.say([Shelves(job.incarnation, unknown)], deadline)
        while all(map(job.takes, left)):
            if needed <= job.made:
                return True
            self._make(job, sorted(needed - job.made), deadline)
            self._check(deadline)
        return False

    def _make(self, job: Job, logs: Sequence[str], deadline: float) -> None:
        """Makes streams, or sees that they are there. Of those that are new the registry says what came of it."""
        session = self._session
        shelves = sorted(set(map(shelf_of, logs)))
        tries = {shelf: job.tries.get(shelf, 0) for shelf in shelves}
        names = {stream_name(session.namespace, job, shelf): shelf for shelf in shelves}
        session.made.update(names)
        session.queues.make_streams(list(names), deadline)
        new = [name for name, shelf in names.items() if shelf not in job.made]
        if not new:
            return
        silent, absent = self._try(new, deadline)
        made = [names[name] for name in new if name not in silent | absent]
        facts: list[Fact] = [Remake(job.incarnation, names[name], tries[names[name]] + 1) for name in sorted(silent)]
        if made:
            facts.append(Made(job.incarnation, made, {shelf: tries[shelf] for shelf in made if tries[shelf]}))
        session.say(facts, deadline)

    def _try(self, names: Sequence[str], deadline: float) -> tuple[set[str], set[str]]:
        """Writes something to streams that were just made. Those that do not take it, and those that are not there."""
        writer = self._session.writer
        try:
            returned = writer.publish([(name, writer.note()) for name in names], min(deadline, monotonic() + ALIVE_S))
        except FabricLost:
            self._check(deadline)
            if len(names) == 1:
                return set(names), set()
            each = [self._try([name], deadline) for name in names]
            return {name for silent, _ in each for name in silent}, {name for _, absent in each for name in absent}
        return set(), {names[index] for index in returned}

    def _check(self, deadline: float) -> None:
        if monotonic() > deadline:
            raise self._session.writer.lost()

    def _say(self, job: Job, left: ByLog, deadline: float) -> ByLog:
        """Returns what has to be said again. All records of a log are, so that they keep their order."""
        letters: list[Letter] = []
        logs: list[str] = []
        behind: dict[str, int] = {}
        for log, records in left.items():
            bodies = self._session.writer.messages(log, records)
            letters += [(stream_name(self._session.namespace, job, log), body) for body in bodies]
            logs += [log] * len(bodies)
            behind[log] = self._session.writer.next_seq - 1
        try:
            returned = self._session.writer.publish(letters, deadline)
        except FabricLost:
            self._pause(deadline)
            return left
        again = {logs[index] for index in returned}
        for log in left.keys() - again:
            self._session.shelf(job, log).said(log, behind[log])
        if again:
            self._make_if_wanted(job, sorted(again), deadline)
        return {log: left[log] for log in left if log in again}

    def _make_if_wanted(self, job: Job, logs: list[str], deadline: float) -> None:
        self._session.catch_up(deadline)
        wanted = [log for log in logs if job.takes(log)]
        if wanted:
            self._make(job, wanted, deadline)
            self._pause(deadline)

    def _remind(self, job: Job, logs: Sequence[str], deadline: float) -> None:
        """Says something in each of the streams these logs are in."""
        session = self._session
        while logs := [log for log in logs if job.takes(log)]:
            streams = {log: stream_name(session.namespace, job, log) for log in logs}
            said: dict[str, int] = {}
            letters: list[Letter] = []
            for stream in dict.fromkeys(streams.values()):
                said[stream] = session.writer.next_seq
                letters.append((stream, session.writer.note()))
            try:
                returned = session.writer.publish(letters, deadline)
            except FabricLost:
                self._pause(deadline)
                continue
            absent = {letters[index][0] for index in returned}
            for log, stream in streams.items():
                if stream not in absent:
                    session.shelf(job, log).said(log, said[stream])
            logs = [log for log, stream in streams.items() if stream in absent]
            if logs:
                self._make_if_wanted(job, logs, deadline)

    def _pause(self, deadline: float) -> None:
        """Before another attempt; raises if there is no time for one."""
        self._check(deadline)
        time.sleep(_RETRY_S)
