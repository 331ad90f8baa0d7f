"""The outcome of a job, and the one rule for which outcome counts if several were recorded."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cauce.errors import PlanMismatch
from cauce.fabric.records import Kind, Record, record


class Outcome(msgspec.Struct, frozen=True):
    """How a job ended, as recorded in its log. `state` is `done`, `failed` or `cancelled`."""

    state: str
    cause: str = ""
    code: str = ""
    at: float = 0.0
    """Unix time of the record; 0 if the writer has no clock."""

    def dump(self, producer: int) -> Record:
        return record(Kind.STATE, producer, 0, msgspec.json.encode(self))


class Outcomes:
    """All outcomes recorded for one job. Which one counts depends on their set, not on the order of reading: `done`
    before any other, because complete answers stay complete; then the one with the earliest time; one without a time
    only if there is no other; then the first cause in alphabetical order."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._recorded: list[Outcome] = []
        self._causes: dict[int, str] = {}
        for each in records:
            self.add(each)

    def add(self, entry: Record) -> None:
        """Adds a record of the job's log. Ignores records of other kinds."""
        if entry.kind != Kind.STATE:
            return
        outcome = msgspec.json.decode(entry.body, type=Outcome)
        self._recorded.append(outcome)
        if outcome.state == "failed":
            self._causes.setdefault(entry.producer, outcome.cause)

    @property
    def effective(self) -> Outcome | None:
        """The outcome that counts; None while the job is open."""
        chosen = [each for each in self._recorded if each.state == "done"] or self._recorded
        return min(chosen, key=lambda each: (not each.at, each.at, each.cause), default=None)

    def with_answers(self, *, complete: bool) -> Outcome | None:
        """The outcome of a job whose answers are complete or not. Complete answers make it `done`, unless another
        outcome was recorded before; a plan mismatch in a worker of another version does not count as one until a
        gateway has confirmed it with a time."""
        outcome = self.effective
        is_open = outcome is None or (outcome.code == PlanMismatch.code and not outcome.at)
        return Outcome("done") if complete and is_open else outcome

    def failed_tasks(self) -> set[int]:
        """Producers that recorded the cause for which the job failed; empty for a job that ended otherwise."""
        outcome = self.effective
        if outcome is None or outcome.state != "failed":
            return set()
        return {producer for producer, cause in self._causes.items() if cause == outcome.cause}
