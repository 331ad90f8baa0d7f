"""Uploads: validates parts, stores each exactly once (claim, part, receipt), and completes tables. A stored part is
never replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import nsmallest

import msgspec

from cauce.api.parts import Held, PartReceipt, PartsBody
from cauce.errors import JobGone
from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log
from cauce.fabric.records import CLIENT, Kind, record
from cauce.gateway.errors import (
    BadPart,
    BadRequest,
    CountDiffers,
    JobOver,
    NoSuchTable,
    PartDiffers,
    PartsMissing,
    PartTooLarge,
    ReadsKeptDataset,
    ServiceError,
    SlowDown,
    TableComplete,
    Unavailable,
)
from cauce.gateway.jobs.job_context import JobContext
from cauce.gateway.jobs.part_validation import BodyCheck
from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.job.part_codec import dump_part
from cauce.job.part_digest import columns_digest
from cauce.job.receipts import (
    FileStamp,
    Receipt,
    Receipts,
    claim_of,
    closing_of,
    completion_of,
    receipt_of,
)
from cauce.scan.parts import Part
from cauce.scan.tables import TableSpec


@dataclass(frozen=True)
class PartTarget:
    """A table that receives parts. `store` is the name of its job or dataset on the fabric, `columns` are those that a
    part must have, `lanes` the logs of its lanes."""

    store: str
    spec: TableSpec
    columns: frozenset[str]
    receipts: Receipts
    lanes: tuple[Log, ...]
    remedy: str = "the files have changed, or two clients use one job id; send the same files, or use another job id"
    """What to do if another content was stored under the number of a part."""

    @property
    def table(self) -> str:
        return self.spec.name


@dataclass(frozen=True)
class Rules:
    """`refuse` raises if the table accepts no part of this number any more; `admit` raises if there is no room."""

    refuse: Callable[[int], None]
    admit: Callable[[int], None]


class PartStore:
    def __init__(self, fabric: Fabric, limits: ServiceLimits, clock: Callable[[], float]) -> None:
        self._fabric = fabric
        self._limits = limits
        self._clock = clock

    def put(self, target: PartTarget, seq: int, part: PartBody, rules: Rules) -> bool:
        """True: new. False: the same part was stored already. The part is on the fabric when this returns, unless its
        job or dataset is being removed: then the receipts lack it."""
        body_digest = self._digest(target.table, seq, part)
        check = BodyCheck(target.spec, target.columns, self._limits)
        stamp = check.stamp(seq, part)
        digest = _identity(part, body_digest.digest(), stamp)
        sent = _receipt(part, digest, body_digest.hexdigest(), stamp)
        receipts = target.receipts
        receipts.advance(self._fabric, target.store)
        standing = receipts.held.get(seq)
        if standing is not None:
            if standing.digest != digest:
                _check_same(standing, _unpacked(sent, seq, part, check), seq, target)
            return False
        self._refuse_new(target, seq, digest, rules)
        rules.admit(len(part.data))
        checked = check.part(seq, part)
        self._claim(target, seq, digest, rules)
        content = check.unpacked_digest or sent.content
        size = checked.unpacked_bytes if part.compression else sent.size
        self._store(target, checked, msgspec.structs.replace(sent, content=content, size=size, at=self._clock()))
        return True

    def _digest(self, table: str, seq: int, part: PartBody) -> hashlib._Hash:
        """The SHA-256 of the body. Raises if its number, size or announced digest is invalid."""
        limits = self._limits
        if not 0 <= seq < limits.parts:
            raise BadRequest(f"invalid part number {seq}; expected 0 to {limits.parts - 1}")
        if len(part.data) > limits.part_bytes:
            raise PartTooLarge(
                f"part {seq} of table {table} has {len(part.data)} bytes, and the limit is {limits.part_bytes}: send "
                "it in smaller parts"
            )
        digest = hashlib.sha256(part.data)
        if part.digest is not None and part.digest.lower() != digest.hexdigest():
            raise BadPart(f"part {seq} of table {table} does not match its announced digest: send it again")
        return digest

    def _store(self, target: PartTarget, part: Part, receipt: Receipt) -> None:
        """Appends a part to its lane, then its receipt."""
        body = dump_part(part, int(receipt.digest[:16], 16))
        self._fabric.append(target.store, target.lanes[part.seq % len(target.lanes)], [body])
        self._fabric.append(target.store, target.receipts.log, [receipt_of(part.seq, receipt)])
        target.receipts.advance(self._fabric, target.store)

    def _claim(self, target: PartTarget, seq: int, digest: str, rules: Rules) -> None:
        """Appends a claim on the part number before the part itself. Raises if it is claimed for other content."""
        receipts = target.receipts
        if digest not in receipts.claims(seq):
            self._fabric.append(target.store, receipts.log, [claim_of(seq, digest)])
            receipts.advance(self._fabric, target.store)
        self._refuse_new(target, seq, digest, rules)

    def _refuse_new(self, target: PartTarget, seq: int, digest: str, rules: Rules) -> None:
        if target.receipts.claims(seq) - {digest}:
            raise _differs(seq, target)
        rules.refuse(seq)

    def held(self, store: str, receipts: Receipts) -> Held:
        # Read barrier: a client that resumes must see every part that was acknowledged to it.
        self._fabric.read_barrier(store, receipts.log)
        receipts.advance(self._fabric, store)
        return receipts.ranges()

    def parts(self, store: str, receipts: Receipts, first: int, limit: int) -> PartsBody:
        """The receipts of the stored parts from a number on."""
        if first == 0:
            self._fabric.read_barrier(store, receipts.log)
        receipts.advance(self._fabric, store)
        found = nsmallest(limit + 1, (seq for seq in receipts.held if seq >= first))
        page = [_shown(seq, receipts.held[seq]) for seq in found[:limit]]
        return PartsBody(page, found[limit] if len(found) > limit else None, receipts.complete)

    def check_count(self, receipts: Receipts, table: str, parts: int) -> None:
        """Raises unless the number is valid and the parts up to it are stored."""
        if not 1 <= parts <= self._limits.parts:
            raise BadRequest(
                f"invalid number of parts {parts}; expected 1 to {self._limits.parts} (an empty table has one "
                "part, which names its columns)"
            )
        missing = receipts.missing(parts)
        if missing:
            named = ", ".join(map(str, missing))
            lacking = parts - sum(seq < parts for seq in receipts.held)
            raise PartsMissing(f"table {table} misses at least {lacking} of its {parts} parts: {named} …")


class Uploads:
    """Uploads to the tables of jobs. `PartStore` does what they share with those to kept datasets."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._fabric = context.fabric
        self._views = context.views
        self._parts = PartStore(context.fabric, context.limits, context.clock)

    def put_part(self, owner: str, job: str, table: str, seq: int, part: PartBody) -> bool:
        """True: new. False: the same part was stored already. The part is on the fabric when this returns."""
        with self._opened(owner, job) as view:
            receipts = self._table(view, job, table)
            self._views.check_plan(view, job)
            target = self._target(view, table, receipts)
            rules = Rules(lambda part: self._refuse(view, job, table, part), lambda size: self._check_backlog(view))
            new = self._parts.put(target, seq, part, rules)
            if seq not in receipts.held:
                # Appends to a trimmed job, or to one that is being deleted, are lost. `open` raises if it was deleted.
                self._views.open(owner, job)
                raise Unavailable(f"part {seq} of table {table} was not stored: send it again", retry_after=1)
            return new

    @contextmanager
    def _opened(self, owner: str, job: str) -> Iterator[JobView]:
        """Answers as for a deleted job if another gateway deletes it during the request."""
        try:
            yield self._views.open(owner, job)
        except JobGone as problem:
            self._views.open(owner, job)
            raise Unavailable(
                f"job {job} was deleted and created again: repeat the request", retry_after=1
            ) from problem

    def _target(self, view: JobView, table: str, receipts: Receipts) -> PartTarget:
        spec, topology = view.spec(table), view.topology
        lanes = tuple(topology.raw_log(spec, lane) for lane in range(topology.lanes_of(spec)))
        return PartTarget(view.name, spec, topology.plan.used_columns(table), receipts, lanes)

    def _refuse(self, view: JobView, job: str, table: str, seq: int) -> None:
        closed_at = view.receipts[table].closed_at()
        if closed_at is not None and seq >= closed_at:
            raise TableComplete(f"table {table} was completed with {closed_at} parts: part {seq} is beyond its end")
        view.end.advance(self._fabric, view.name)
        outcome = view.end.outcomes.effective
        if outcome is not None:
            raise JobOver(f"job {job} is {outcome.state}: it accepts no more parts")

    def _check_backlog(self, view: JobView) -> None:
        for table in view.tables:
            view.receipts[table].advance(self._fabric, view.name)
        if view.backlog_bytes() >= self._context.limits.backlog_bytes:
            self._views.refresh(view)
            if view.backlog_bytes() >= self._context.limits.backlog_bytes:
                raise SlowDown(
                    f"{view.backlog_bytes()} bytes of this job are not read yet: retry when the workers have caught up",
                    retry_after=1,
                )
        if self._context.shared.held_bytes >= self._context.limits.held_bytes:
            raise SlowDown(
                "the service has reached its limit of stored bytes for all jobs: retry when some have ended",
                retry_after=5,
            )

    def held(self, owner: str, job: str, table: str) -> Held:
        view = self._views.open(owner, job, consistent=True)
        return self._parts.held(view.name, self._table(view, job, table))

    def parts(self, owner: str, job: str, table: str, first: int, limit: int) -> PartsBody:
        """The receipts of the stored parts from a number on; also for a job that has ended."""
        view = self._views.open(owner, job, consistent=first == 0)
        return self._parts.parts(view.name, self._table(view, job, table), first, limit)

    def complete(self, owner: str, job: str, table: str, parts: int) -> bool:
        """True: completed now. False: it was completed before with the same number."""
        with self._opened(owner, job) as view:
            receipts = self._table(view, job, table)
            receipts.advance(self._fabric, view.name)
            if receipts.complete is not None:
                if receipts.complete != parts:
                    raise CountDiffers(f"table {table} was completed with {receipts.complete} parts, not with {parts}")
                return False
            self._views.check_plan(view, job)
            if receipts.missing(parts):
                self._fabric.read_barrier(view.name, receipts.log)
                receipts.advance(self._fabric, view.name)
            self._check_count(receipts, table, parts)
            view.end.advance(self._fabric, view.name)
            outcome = view.end.outcomes.effective
            if outcome is not None:
                raise JobOver(f"job {job} is {outcome.state}: its tables can no longer be completed")
            if receipts.closed_at() is None:
                self._fabric.append(view.name, receipts.log, [closing_of(parts)])
                receipts.advance(self._fabric, view.name)
                self._check_count(receipts, table, parts)
            self._append_lane_ends(view, table, parts)
            self._fabric.append(view.name, receipts.log, [completion_of(parts, self._context.clock())])
            receipts.advance(self._fabric, view.name)
            if view.receipts[table].complete is None:
                self._views.open(owner, job)
                raise Unavailable(f"the completion of table {table} was not stored: complete it again", retry_after=1)
            if not view.open_tables:
                self._context.notify("completed", self._context.statuses.of_view(view))
            return True

    def _check_count(self, receipts: Receipts, table: str, parts: int) -> None:
        self._parts.check_count(receipts, table, parts)
        beyond = receipts.beyond(parts)
        if beyond is not None:
            raise CountDiffers(f"table {table} has a part {beyond}, so it has more than {parts} parts")
        closed_at = receipts.closed_at()
        if closed_at is not None and closed_at != parts:
            raise CountDiffers(f"table {table} is being completed with {closed_at} parts, not with {parts}")

    def _append_lane_ends(self, view: JobView, table: str, parts: int) -> None:
        spec = view.spec(table)
        lanes = view.topology.lanes_of(spec)
        for lane in range(lanes):
            end = record(Kind.END, CLIENT, len(range(lane, parts, lanes)))
            self._fabric.append(view.name, view.topology.raw_log(spec, lane), [end])

    def _table(self, view: JobView, job: str, table: str) -> Receipts:
        if view.manifest.on is not None:
            raise ReadsKeptDataset(
                f"job {job} reads the kept dataset {view.manifest.on.dataset}: it has no parts of its own; add parts "
                f"to the dataset, and start a new job"
            )
        receipts = view.receipts.get(table)
        if receipts is None:
            known = ", ".join(view.tables)
            raise NoSuchTable(f"the queries of job {job} do not use table {table[:80]!r}; expected one of {known}")
        return receipts


def _check_same(standing: Receipt, sent: Receipt, seq: int, target: PartTarget) -> None:
    """Raises unless both have the same content, whatever their compression."""
    if not standing.same_content(sent):
        raise _differs(seq, target, standing, sent)


def _differs(seq: int, target: PartTarget, standing: Receipt | None = None, sent: Receipt | None = None) -> PartDiffers:
    compared = ""
    if standing is not None and sent is not None:
        compared = f" ({_difference(standing, sent)})"
    return PartDiffers(
        f"part {seq} of table {target.table} was sent before with other content{compared}: {target.remedy}"
    )


def _difference(standing: Receipt, sent: Receipt) -> str:
    """The difference between two contents of one part, in words."""
    named = {"form": "form", "file": "file", "first_line": "first line"}
    for name, word in named.items():
        before, now = getattr(standing, name), getattr(sent, name)
        if standing.content and before != now:
            return f"{word} {before or 'not given'} before, {now or 'not given'} now"
    if standing.columns != sent.columns:
        return f"other column names of {sent.file or 'the part'}"
    if standing.source != sent.source and standing.source and sent.source:
        if standing.source.bytes != sent.source.bytes:
            return f"the file had {standing.source.bytes:,} bytes and has {sent.source.bytes:,} now"
        return "the file has been modified since"
    before_size, now_size = standing.size or standing.bytes, sent.size or sent.bytes
    if before_size != now_size:
        return f"{before_size:,} bytes before, {now_size:,} now"
    return f"{now_size:,} bytes as before, but with other content"


def _receipt(part: PartBody, digest: str, content: str, stamp: FileStamp | None) -> Receipt:
    size, columns = len(part.data), columns_digest(part.columns)
    return Receipt(digest, size, 0.0, content, size, part.form, part.file, part.first_line, columns, stamp)


def _unpacked(sent: Receipt, seq: int, part: PartBody, check: BodyCheck) -> Receipt:
    """The receipt with the digest of the decompressed body; unchanged if the body cannot be decompressed."""
    if not part.compression:
        return sent
    try:
        size = check.part(seq, part).unpacked_bytes
    except ServiceError:
        return sent
    return msgspec.structs.replace(sent, content=check.unpacked_digest, size=size)


def _shown(seq: int, receipt: Receipt) -> PartReceipt:
    return PartReceipt(
        seq,
        receipt.bytes,
        receipt.content,
        receipt.size,
        receipt.form,
        receipt.file,
        receipt.first_line,
        receipt.columns,
    )


def _identity(part: PartBody, body_digest: bytes, stamp: FileStamp | None) -> str:
    """The digest that identifies a part: its bytes, how they are read, and the state of a referenced file."""
    described: tuple[object, ...] = (part.form, part.compression, part.file, part.first_line, part.columns)
    try:
        encoded = msgspec.json.encode(described if stamp is None else (*described, stamp))
    except (UnicodeEncodeError, OverflowError) as problem:
        raise BadRequest("invalid file name, column names or first line") from problem
    return hashlib.sha256(body_digest + encoded).hexdigest()
