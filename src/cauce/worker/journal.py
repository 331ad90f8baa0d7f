"""The journal of a task: starts, completions, input positions and snapshots. Task state is a pure function of it."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from cauce.fabric.contract import START, Fabric, Log, Position
from cauce.fabric.records import Kind, Record, record
from cauce.job.crashes import Scene, Start
from cauce.job.log_reader import LogReader
from cauce.process.progress import tick

_READ_BYTES = 1 << 23
"""Per read of a journal. A snapshot may be larger, and is read whole."""


@dataclass
class JournalState:
    """The state read from a journal: the sequence numbers that are `done`, the number of starts of each that were not
    aborted (`starts`), the input `position` after the last completion, the total `count` if it was known by then, and
    the last `snapshot`. `open` are the starts, with their numbers, that are neither completed nor aborted; `snapshots`
    is the number of snapshots."""

    done: set[int] = field(default_factory=set)
    starts: dict[int, int] = field(default_factory=dict)
    position: Position = START
    count: int | None = None
    snapshot: bytes | None = None
    open: list[tuple[int, Start]] = field(default_factory=list, compare=False)
    snapshots: int = field(default=0, compare=False)
    read_bytes: int = field(default=0, compare=False)
    """Size of the journal."""


class _Done(msgspec.Struct, frozen=True):
    """`seen` is the position up to which the writer had read the journal: this entry depends on all before it."""

    position: dict[str, int]
    count: int | None
    seen: dict[str, int] = {}


class _JournalFold:
    """Folds the records of a journal into its state, one by one. Keeps only the last snapshot in memory.

    If a `run_id` is given, starts of other runs are ignored: after a kill of the whole run, no task is blamed."""

    def __init__(self, run_id: str | None) -> None:
        self._run_id = run_id
        self._state = JournalState()
        self._started: dict[str, tuple[int, Start]] = {}
        self._closed: set[str] = set()
        self._snapshots: set[int] = set()
        self.seen = START
        """The farthest position in the journal that an entry depends on."""

    def add(self, each: Record) -> None:
        self._state.read_bytes += len(each.body)
        match each.kind:
            case Kind.STARTED:
                self._add_start(each.seq, msgspec.json.decode(each.body, type=Start))
            case Kind.ABORTED:
                aborted = msgspec.json.decode(each.body, type=Start)
                self._closed.update((aborted.which, aborted.closes))
            case Kind.DONE:
                self._add_done(each.seq, msgspec.json.decode(each.body, type=_Done))
            case Kind.SNAPSHOT:
                self._state.snapshot = each.body
                self._snapshots.add(each.digest)

    def _add_start(self, seq: int, start: Start) -> None:
        self._closed.add(start.closes)
        known = self._started.get(start.which)
        if (self._run_id is None or start.run_id == self._run_id) and (known is None or not known[1].suspended):
            self._started[start.which] = seq, start

    def _add_done(self, seq: int, entry: _Done) -> None:
        self._state.done.add(seq)
        # Merged: a former holder that still runs may append completions out of order.
        self._state.position = self._state.position.merge(Position.decode(entry.position))
        self._state.count = self._state.count if entry.count is None else entry.count
        self.seen = self.seen.merge(Position.decode(entry.seen))

    def state(self) -> JournalState:
        """The state after all records. No record may be added after this."""
        state = self._state
        left = [(seq, start) for which, (seq, start) in self._started.items() if which not in self._closed]
        state.starts = dict(Counter(seq for seq, _ in left))
        state.open = [(seq, start) for seq, start in left if seq not in state.done]
        state.snapshots = len(self._snapshots)
        return state


class Journal:
    """Appends to the journal of a task, and reads its state from it."""

    def __init__(
        self, fabric: Fabric, job: str, log: Log, producer: int, on: bool = True, run_id: str | None = None
    ) -> None:
        self._run_id = run_id
        self._current: tuple[int, Start] | None = None
        self._appended = False
        """Whether the current start is in the log."""
        self._snapshots = 0
        self._fabric = fabric
        self._seen = START
        self._on = on
        self._job = job
        self._log = log
        self._producer = producer

    def replay(self) -> JournalState | None:
        """Reads the state; None while an entry is visible, but not yet all the entries that it depends on.

        The position in a completion covers the completions of earlier holders. If those are not visible yet, resuming
        after that position would skip their work.
        """
        fold = _JournalFold(self._run_id)
        reader = LogReader(self._log, _READ_BYTES)
        reader.read_barrier(self._fabric, self._job)
        for batch in reader.batches(self._fabric, self._job):
            for each in batch.records:
                fold.add(each)
            tick()
        if not reader.position.covers(fold.seen):
            return None
        self._seen = reader.position
        state = fold.state()
        self._snapshots = state.snapshots
        return state

    def began(self, seq: int, what: str = "", scene: Scene | None = None) -> None:
        """Appends a start, which ends the current one. A start that the next holder finds neither completed nor aborted
        counts as a crash. `what` is its name in messages."""
        if self._current is None or self._current[0] != seq or self._current[1].suspended:
            closes = self._current[1].which if self._current is not None else ""
            which = secrets.token_hex(8)
            start = Start(which, self._run_id, what, closes, self._snapshots, scene or Scene())
            self._current, self._appended = (seq, start), False
        if not self._appended:
            self._append(Kind.STARTED, seq, msgspec.json.encode(self._current[1]))
            self._appended = True

    def is_under_way(self, seq: int) -> bool:
        if not self._appended or self._current is None:
            return False
        return self._current[0] == seq and not self._current[1].suspended

    def suspend(self) -> None:
        """Records that the current start is not running, but keeps its memory. It resumes as a new start."""
        if self._current is None or self._current[1].suspended:
            return
        seq, start = self._current
        suspended = msgspec.structs.replace(start, suspended=True)
        self._append(Kind.STARTED, seq, msgspec.json.encode(suspended))
        self._current = seq, suspended

    def done(self, seq: int, position: Position, count: int | None) -> None:
        self._append(Kind.DONE, seq, msgspec.json.encode(_Done(position.encode(), count, self._seen.encode())))
        self._current = None

    def abort(self) -> Start | None:
        """Appends that the current start was aborted, so that it does not count as a crash. Returns it, if any."""
        if self._current is None:
            return None
        seq, start = self._current
        self._append(Kind.ABORTED, seq, msgspec.json.encode(start))
        self._current = None
        return start

    def snapshot(self, body: bytes) -> None:
        """Appends a snapshot. It survives crashes, so starts before it count as having made progress."""
        self._append(Kind.SNAPSHOT, 0, body)
        self._snapshots += 1

    def _append(self, kind: Kind, seq: int, body: bytes = b"") -> None:
        if self._on:
            self._fabric.append(self._job, self._log, [record(kind, self._producer, seq, body)])
