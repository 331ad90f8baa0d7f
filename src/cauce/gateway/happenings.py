"""What happened to a job and when, as its logs tell: for a timeline that can still be looked at when it is over."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cauce.gateway.view import JobView


class Happening(msgspec.Struct, frozen=True):
    at: float
    what: str
    about: str


def happenings(view: JobView) -> list[Happening]:
    """In the order of time."""
    return sorted(_all(view), key=lambda each: each.at)


def _all(view: JobView) -> Iterator[Happening]:
    yield Happening(view.manifest.created, "created", "")
    for table, receipts in view.receipts.items():
        if receipts.first_at:
            yield Happening(receipts.first_at, "first part", f"of {table}")
        if receipts.complete is not None:
            parts = f"{receipts.complete} part{'' if receipts.complete == 1 else 's'}"
            yield Happening(receipts.completed_at, "completed", f"{table} with {parts}")
    for stage in view.topology.plan.stages:
        tasks = [task.number for task in view.topology.tasks if task.stage is stage]
        stands = [view.history.stands[task] for task in tasks if task in view.history.stands]
        if stands and len(stands) == len(tasks) and all(stand.finished for stand in stands):
            yield Happening(max(stand.at for stand in stands), "finished", stage.name)
    ending = view.end.ending
    if ending is not None and ending.at:
        yield Happening(ending.at, view.state, ending.cause)
