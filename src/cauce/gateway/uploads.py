"""What clients send of a job: parts that are checked and kept once, and tables that are complete."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from cauce.fabric.contract import Fabric
from cauce.gateway.bodies import BodyCheck
from cauce.gateway.errors import (
    BadPart,
    BadRequest,
    CountDiffers,
    JobOver,
    NoSuchTable,
    PartDiffers,
    PartsMissing,
    PartTooLarge,
    SlowDown,
    TableComplete,
    Unavailable,
)
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import Held, PartBody
from cauce.gateway.receipts import Receipt, Receipts, claim_of, closing_of, completion_of, receipt_of
from cauce.gateway.statuses import Statuses
from cauce.gateway.view import JobView
from cauce.gateway.views import Tell, Views
from cauce.wire.records import CLIENT, Kind, record
from cauce.worker.raw import dump_part


@dataclass
class Room:
    """What all threads of a gateway go by: bytes of all jobs that are open, as the last sweep has found them."""

    held_bytes: int = 0


class Uploads:
    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        views: Views,
        statuses: Statuses,
        room: Room,
        clock: Callable[[], float],
        tell: Tell,
    ) -> None:
        self._fabric = fabric
        self._limits = limits
        self._views = views
        self._statuses = statuses
        self._room = room
        self._clock = clock
        self._tell = tell

    def put_part(self, owner: str, job: str, table: str, seq: int, part: PartBody) -> bool:
        """True: new. False: the same part was held already."""
        limits = self._limits
        view = self._views.open(owner, job)
        receipts = self._table(view, job, table)
        if not 0 <= seq < limits.parts:
            raise BadRequest(f"{seq} cannot be the number of a part; it is from 0 to {limits.parts - 1}")
        if len(part.data) > limits.part_bytes:
            raise PartTooLarge(
                f"part {seq} of table {table} has {len(part.data)} bytes, and a part has {limits.part_bytes} at "
                "most: send it in smaller parts"
            )
        body_digest = hashlib.sha256(part.data)
        if part.digest is not None and part.digest.lower() != body_digest.hexdigest():
            raise BadPart(f"part {seq} of table {table} came with another digest than it has: send it again")
        digest = _identity(part, body_digest.digest())
        receipts.advance(self._fabric, view.name)
        if seq in receipts.held:
            if receipts.held[seq].digest != digest:
                raise _differs(seq, table)
            return False
        self._refuse_new(view, job, table, seq, digest)
        self._brake(view)
        checked = BodyCheck(view.tables[table], view.topology.plan.used_columns(table), limits).part(seq, part)
        self._claim(view, job, table, seq, digest)
        lane = seq % view.topology.lanes_of(view.tables[table])
        said = dump_part(checked, int(digest[:16], 16))
        self._fabric.append(view.name, view.topology.raw_log(view.tables[table], lane), [said])
        receipt = Receipt(digest, len(part.data), self._clock())
        self._fabric.append(view.name, receipts.log, [receipt_of(seq, receipt)])
        receipts.advance(self._fabric, view.name)
        if seq not in receipts.held:
            # What is appended to a job that is gone goes nowhere.
            self._views.open(owner, job)
            raise Unavailable(f"part {seq} of table {table} was not kept: send it again", retry_after=1)
        return True

    def _claim(self, view: JobView, job: str, table: str, seq: int, digest: str) -> None:
        """Says what is about to be appended, and looks whether another gateway was about to say otherwise."""
        receipts = view.receipts[table]
        if digest not in receipts.claims(seq):
            self._fabric.append(view.name, receipts.log, [claim_of(seq, digest)])
            receipts.advance(self._fabric, view.name)
        self._refuse_new(view, job, table, seq, digest)

    def _refuse_new(self, view: JobView, job: str, table: str, seq: int, digest: str) -> None:
        receipts = view.receipts[table]
        if receipts.claims(seq) - {digest}:
            raise _differs(seq, table)
        closed_at = receipts.closed_at()
        if closed_at is not None and seq >= closed_at:
            raise TableComplete(f"table {table} was completed with {closed_at} parts: part {seq} comes too late")
        view.end.advance(self._fabric, view.name)
        if view.end.ending is not None:
            raise JobOver(f"job {job} is {view.state}: it takes no more parts")

    def _brake(self, view: JobView) -> None:
        for table in view.tables:
            view.receipts[table].advance(self._fabric, view.name)
        if view.backlog_bytes() >= self._limits.backlog_bytes:
            self._views.refresh(view)
            if view.backlog_bytes() >= self._limits.backlog_bytes:
                raise SlowDown(
                    f"{view.backlog_bytes()} bytes of this job wait to be read: go on when the workers have caught up",
                    retry_after=1,
                )
        if self._room.held_bytes >= self._limits.held_bytes:
            raise SlowDown(
                "the service holds as much as it may for all jobs: go on when some have ended", retry_after=5
            )

    def held(self, owner: str, job: str, table: str) -> Held:
        view = self._views.open(owner, job)
        receipts = self._table(view, job, table)
        # A client that goes on believes what is said here: what it was told to be held must be among it.
        self._fabric.catch_up(view.name, receipts.log)
        receipts.advance(self._fabric, view.name)
        return receipts.ranges()

    def complete(self, owner: str, job: str, table: str, parts: int) -> bool:
        """True: completed now. False: it was complete, with the same number."""
        view = self._views.open(owner, job)
        receipts = self._table(view, job, table)
        receipts.advance(self._fabric, view.name)
        if receipts.complete is not None:
            if receipts.complete != parts:
                raise CountDiffers(f"table {table} was completed with {receipts.complete} parts, not with {parts}")
            return False
        if receipts.missing(parts):
            self._fabric.catch_up(view.name, receipts.log)
            receipts.advance(self._fabric, view.name)
        self._check_count(receipts, table, parts)
        view.end.advance(self._fabric, view.name)
        if view.end.ending is not None:
            raise JobOver(f"job {job} is {view.state}: its tables cannot be completed any more")
        if receipts.closed_at() is None:
            self._fabric.append(view.name, receipts.log, [closing_of(parts)])
            receipts.advance(self._fabric, view.name)
            self._check_count(receipts, table, parts)
        self._say_ends(view, table, parts)
        self._fabric.append(view.name, receipts.log, [completion_of(parts, self._clock())])
        receipts.advance(self._fabric, view.name)
        if view.receipts[table].complete is None:
            self._views.open(owner, job)
            raise Unavailable(f"the end of table {table} was not kept: complete it again", retry_after=1)
        if not view.open_tables:
            self._tell("completed", self._statuses.of_view(view))
        return True

    def _check_count(self, receipts: Receipts, table: str, parts: int) -> None:
        if not 1 <= parts <= self._limits.parts:
            raise BadRequest(f"a table cannot have {parts} parts; an empty one has one part, which names its columns")
        missing = receipts.missing(parts)
        if missing:
            named = ", ".join(map(str, missing))
            raise PartsMissing(
                f"table {table} lacks {parts - len(receipts.held)} or more of its {parts} parts: {named} …"
            )
        beyond = receipts.beyond(parts)
        if beyond is not None:
            raise CountDiffers(f"table {table} has a part {beyond}, so there are more than {parts} parts")
        closed_at = receipts.closed_at()
        if closed_at is not None and closed_at != parts:
            raise CountDiffers(f"table {table} was about to be completed with {closed_at} parts, not with {parts}")

    def _say_ends(self, view: JobView, table: str, parts: int) -> None:
        spec = view.tables[table]
        lanes = view.topology.lanes_of(spec)
        for lane in range(lanes):
            end = record(Kind.END, CLIENT, len(range(lane, parts, lanes)))
            self._fabric.append(view.name, view.topology.raw_log(spec, lane), [end])

    def _table(self, view: JobView, job: str, table: str) -> Receipts:
        receipts = view.receipts.get(table)
        if receipts is None:
            known = ", ".join(view.tables)
            raise NoSuchTable(f"the queries of job {job} use no table {table[:80]!r}; they use {known}")
        return receipts


def _differs(seq: int, table: str) -> PartDiffers:
    return PartDiffers(
        f"part {seq} of table {table} was sent before with another content: two clients may be using one job, or the "
        "files have changed; use another job id"
    )


def _identity(part: PartBody, body_digest: bytes) -> str:
    """A digest of all that makes a part what it is: the bytes, and what they are to be taken for."""
    try:
        said = msgspec.json.encode((part.form, part.compression, part.file, part.first_line, part.columns))
    except (UnicodeEncodeError, OverflowError) as problem:
        raise BadRequest("the name of the file, its columns or its first line cannot be") from problem
    return hashlib.sha256(body_digest + said).hexdigest()
