"""Appends to and reads of logs. An append returns only after all confirms or raises; a read never misses our own
appends.

An unroutable message means that its stream does not exist: not yet, or no longer. Only the registry knows which, and
only then may records be dropped.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from time import monotonic

from cauce.errors import FabricLost
from cauce.fabric.contract import Append, Batch, Position
from cauce.fabric.names import Log, job_gone
from cauce.fabric.rabbitmq.queues import stream_name
from cauce.fabric.rabbitmq.registry import Fact, Job, LogGroups, Made, Remake
from cauce.fabric.rabbitmq.session import Session
from cauce.fabric.rabbitmq.streams.writer import Outgoing
from cauce.fabric.records import Record

_RETRY_S = 0.01
FIRST_CONFIRM_S = 4.0
"""Time after which a new stream that confirms no message is replaced."""

ByLog = dict[Log, list[Record]]


class Logs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, name: str, appends: Sequence[Append], deadline: float) -> None:
        left: ByLog = {}
        for log, records in appends:
            if records:
                left.setdefault(log, []).extend(records)
        while True:
            job = self._session.find_consistent(name, deadline)
            if job is None:
                raise job_gone(name)
            left = {log: records for log, records in left.items() if job.accepts(log)}
            if left and self._register(job, left, deadline):
                left = self._publish(job, left, deadline)
            if not left:
                return

    def read(self, name: str, log: Log, position: Position, limit_bytes: int, deadline: float) -> Batch:
        session = self._session
        job = session.find(name)
        if job is None or not self._is_there(job, log):
            return Batch([], position)
        session.keep_few_readers()
        return session.reader_group(job, log).read(
            log.encode(),
            position,
            limit_bytes,
            deadline,
            alive=lambda: session.find(name) is job and job.accepts(log),
            append_marker=lambda: self._append_markers(job, [log], deadline),
        )

    def read_barrier(self, name: str, logs: Sequence[Log], deadline: float) -> None:
        """Read barrier: appends a marker to the logs' streams. Later reads continue at least up to the marker."""
        session = self._session
        job = session.find_consistent(name, deadline)
        if job is None:
            return
        if not all(self._is_there(job, log) for log in logs):
            session.read_barrier(deadline)
        self._append_markers(job, [log for log in logs if self._is_there(job, log)], deadline)

    def _is_there(self, job: Job, log: Log) -> bool:
        return job.accepts(log) and log.group in job.made

    def _register(self, job: Job, left: ByLog, deadline: float) -> bool:
        """Registers the streams, declares them, and waits until the registry reports them as made. False if the job has
        ended."""
        needed = {log.group for log in left}
        if needed <= job.made:
            return True
        if unknown := sorted(needed - job.log_groups):
            self._session.append_and_apply([LogGroups(job.incarnation, unknown)], deadline)
        while all(map(job.accepts, left)):
            if needed <= job.made:
                return True
            self._make(job, sorted(needed - job.made), deadline)
            self._check(deadline)
        return False

    def _make(self, job: Job, groups: Sequence[str], deadline: float) -> None:
        """Declares the streams of log groups. For new ones, appends the outcome to the registry."""
        session = self._session
        tries = {group: job.tries.get(group, 0) for group in groups}
        names = {stream_name(session.namespace, job, group): group for group in groups}
        session.made.update(names)
        session.queues.make_streams(list(names), deadline)
        new = [name for name, group in names.items() if group not in job.made]
        if not new:
            return
        silent, absent = self._probe(new, deadline)
        made = [names[name] for name in new if name not in silent | absent]
        facts: list[Fact] = [Remake(job.incarnation, names[name], tries[names[name]] + 1) for name in sorted(silent)]
        if made:
            facts.append(Made(job.incarnation, made, {group: tries[group] for group in made if tries[group]}))
        session.append_and_apply(facts, deadline)

    def _probe(self, names: Sequence[str], deadline: float) -> tuple[set[str], set[str]]:
        """Publishes a marker to new streams. Returns those that do not confirm it, and those that do not exist."""
        writer = self._session.writer
        try:
            returned = writer.publish(
                [(name, writer.note()) for name in names], min(deadline, monotonic() + FIRST_CONFIRM_S)
            )
        except FabricLost:
            self._check(deadline)
            if len(names) == 1:
                return set(names), set()
            each = [self._probe([name], deadline) for name in names]
            return {name for silent, _ in each for name in silent}, {name for _, absent in each for name in absent}
        return set(), {names[index] for index in returned}

    def _check(self, deadline: float) -> None:
        if monotonic() > deadline:
            raise self._session.writer.lost()

    def _publish(self, job: Job, left: ByLog, deadline: float) -> ByLog:
        """Publishes records; returns those to retry. A log is retried as a whole, so that its records keep their
        order."""
        outgoing: list[Outgoing] = []
        logs: list[Log] = []
        behind: dict[Log, int] = {}
        for log, records in left.items():
            bodies = self._session.writer.messages(log.encode(), records)
            outgoing += [(stream_name(self._session.namespace, job, log.group), body) for body in bodies]
            logs += [log] * len(bodies)
            behind[log] = self._session.writer.next_seq - 1
        try:
            returned = self._session.writer.publish(outgoing, deadline)
        except FabricLost:
            self._pause(deadline)
            return left
        again = {logs[index] for index in returned}
        for log in left.keys() - again:
            self._session.reader_group(job, log).require_up_to(log.encode(), behind[log])
        if again:
            self._make_if_wanted(job, sorted(again), deadline)
        return {log: left[log] for log in left if log in again}

    def _make_if_wanted(self, job: Job, logs: list[Log], deadline: float) -> None:
        self._session.read_barrier(deadline)
        wanted = {log.group for log in logs if job.accepts(log)}
        if wanted:
            self._make(job, sorted(wanted), deadline)
            self._pause(deadline)

    def _append_markers(self, job: Job, logs: Sequence[Log], deadline: float) -> None:
        """Appends a marker to each stream of these logs."""
        session = self._session
        while logs := [log for log in logs if job.accepts(log)]:
            streams = {log: stream_name(session.namespace, job, log.group) for log in logs}
            markers: dict[str, int] = {}
            outgoing: list[Outgoing] = []
            for stream in dict.fromkeys(streams.values()):
                markers[stream] = session.writer.next_seq
                outgoing.append((stream, session.writer.note()))
            try:
                returned = session.writer.publish(outgoing, deadline)
            except FabricLost:
                self._pause(deadline)
                continue
            absent = {outgoing[index][0] for index in returned}
            for log, stream in streams.items():
                if stream not in absent:
                    session.reader_group(job, log).require_up_to(log.encode(), markers[stream])
            logs = [log for log, stream in streams.items() if stream in absent]
            if logs:
                self._make_if_wanted(job, logs, deadline)

    def _pause(self, deadline: float) -> None:
        """Backoff before a retry; raises after the deadline."""
        self._check(deadline)
        time.sleep(_RETRY_S)
