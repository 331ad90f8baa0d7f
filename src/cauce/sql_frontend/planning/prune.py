"""Drops columns that nothing reads. A step that several others read keeps what any of them needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cauce.sql_frontend.planning.steps import with_inputs
from cauce.sql_frontend.tree import (
    Aggregate,
    Column,
    Distinct,
    Expr,
    Filter,
    Join,
    KeyFilter,
    Limit,
    Project,
    Scan,
    SetOperation,
    Step,
    Unnest,
    Values,
    Window,
    columns_of,
)


def pruned(step: Step, needed: Iterable[str]) -> Step:
    pruning = _Pruning()
    pruning.need(step, set(needed))
    return pruning.rebuilt(step)


@dataclass
class _Pruning:
    _needed: dict[int, set[str]] = field(default_factory=dict)
    _made: dict[int, Step] = field(default_factory=dict)

    def need(self, step: Step, names: set[str]) -> None:
        """Records what is read of a step, and of the steps below."""
        known = self._needed.get(id(step))
        if known is not None and names <= known:
            return
        wanted = (known or set()) | names
        self._needed[id(step)] = wanted
        for child, reads in self._reads(step, wanted):
            self.need(child, reads)

    def _reads(self, step: Step, wanted: set[str]) -> list[tuple[Step, set[str]]]:
        match step:
            case Scan() | Values():
                return []
            case Filter():
                return [(step.child, wanted | _columns(step.conditions))]
            case KeyFilter():
                return [(step.child, wanted | {step.column}), (step.keys, set(step.keys.columns))]
            case Project():
                return [(step.child, _columns(expr for name, expr in step.items if name in wanted))]
            case Join():
                read = wanted | _columns(step.conditions)
                return [(side, read & set(side.columns)) for side in (step.left, step.right)]
            case Aggregate():
                calls = [call for name, call in step.aggregates if name in wanted]
                return [(step.child, _columns(expr for _, expr in step.keys) | _columns(calls))]
            case Window():
                made = {name for name, _ in step.calls}
                windows = [call for name, call in step.calls if name in wanted]
                return [(step.child, (wanted - made) | _columns(windows))]
            case Distinct():
                read = wanted | _columns(step.expressions()) if step.on else set(step.child.columns)
                return [(step.child, read)]
            case SetOperation():
                read = wanted if step.kind == "union" and step.all else set(step.columns)
                return [(step.left, read), (step.right, read)]
            case Limit():
                return [(step.child, wanted | _columns(step.expressions()) | set(step.visible) | set(step.per))]
            case Unnest():
                return [(step.child, wanted | {step.column})]
        raise TypeError(f"{type(step).__name__} is not a step")

    def rebuilt(self, step: Step) -> Step:
        if id(step) not in self._made:
            self._made[id(step)] = self._rebuilt(step)
        return self._made[id(step)]

    def _rebuilt(self, step: Step) -> Step:
        wanted = self._needed[id(step)]
        made = with_inputs(step, [self.rebuilt(each) for each in step.inputs()])
        match made:
            case Scan():
                names = tuple(each for each in made.names if each[1] in wanted)
                return replace(made, names=names)
            case Values() if made.names:
                kept = [i for i, (name, _) in enumerate(made.names) if name in wanted] or [0]
                rows = tuple(tuple(row[i] for i in kept) for row in made.rows)
                return Values(tuple(made.names[i] for i in kept), rows)
            case Project():
                items = tuple(each for each in made.items if each[0] in wanted)
                return replace(made, items=items)
            case Aggregate():
                return replace(made, aggregates=tuple(each for each in made.aggregates if each[0] in wanted))
            case Window():
                calls = tuple(each for each in made.calls if each[0] in wanted)
                return replace(made, calls=calls) if calls else made.child
            case SetOperation() if made.kind == "union" and made.all:
                # The sides of a union must have the same columns.
                return replace(made, left=_only(made.left, wanted), right=_only(made.right, wanted))
            case Filter() | Join() if wanted:
                # Columns that only its conditions read need not move any further.
                return _only(made, wanted)
        return made


def _only(step: Step, names: set[str]) -> Step:
    columns = step.columns
    if set(columns) <= names:
        return step
    return Project(step, tuple((name, Column(kind, name)) for name, kind in columns.items() if name in names))


def _columns(exprs: Iterable[Expr]) -> set[str]:
    return {name for expr in exprs for name in columns_of(expr)}
