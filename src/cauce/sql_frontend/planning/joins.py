"""Moves conditions towards the tables and orders inner joins.

The rows of the largest input flow through; the others are joined to it one after the other: connected ones first, then
those that drop most rows, those that multiply rows last. The order depends on the text and on the sizes in the
catalogue only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cauce.sql_frontend.catalogue import Catalogue
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.planning.key_sizes import KeySizes
from cauce.sql_frontend.planning.semi_joins import SemiJoins
from cauce.sql_frontend.planning.sizes import BROADCAST_ROWS, Sizes
from cauce.sql_frontend.planning.steps import equality, with_inputs
from cauce.sql_frontend.translate import may_fail, refolded
from cauce.sql_frontend.tree import (
    Aggregate,
    Call,
    Column,
    Distinct,
    Expr,
    Filter,
    Join,
    Project,
    SetOperation,
    Step,
    columns_of,
    substitute,
)
from cauce.sql_frontend.types import BOOLEAN


@dataclass
class JoinPlanner:
    catalogue: Catalogue
    _done: dict[int, tuple[Step, Step]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = Sizes(self.catalogue)
        self.semi_joins = SemiJoins(self.sizes)

    def step(self, step: Step) -> Step:
        """The step with its conditions and joins placed. A shared step stays shared."""
        if id(step) not in self._done:
            # The original is kept as well, so that its id stays in use.
            self._done[id(step)] = (step, self._placed(step))
        return self._done[id(step)][1]

    def _placed(self, step: Step) -> Step:
        if isinstance(step, Filter) or (isinstance(step, Join) and step.how == "inner"):
            leaves, conditions = self._flattened(step)
            return self._joined(leaves, conditions, list(step.columns))
        if isinstance(step, Join):
            return self._outer_join(step)
        return with_inputs(step, [self.step(each) for each in step.inputs()])

    def _outer_join(self, step: Join) -> Step:
        """Conditions on one side of a join are applied before it where the kind of the join allows."""
        left_names, right_names = set(step.left.columns), set(step.right.columns)
        left, right, rest = [], [], []
        for condition in step.conditions:
            names = columns_of(condition)
            if names and names <= right_names and step.how in ("left", "semi", "anti"):
                right.append(condition)
            elif names and names <= left_names and step.how in ("right", "semi"):
                left.append(condition)
            else:
                rest.append(condition)
        sides = [self._filtered(side, found) for side, found in ((step.left, left), (step.right, right))]
        return self._with_semi_joins(Join(sides[0], sides[1], step.how, tuple(rest)))

    def _with_semi_joins(self, step: Join) -> Join:
        if step.how in ("left", "semi", "anti"):
            step = replace(step, right=self.semi_joins.of_right(step.left, step.right, step.conditions))
        if step.how == "semi":
            step = replace(step, left=self.semi_joins.of_left(step.left, step.right, step.conditions))
        return step

    def _filtered(self, step: Step, conditions: Sequence[Expr]) -> Step:
        return self.step(Filter(step, tuple(conditions))) if conditions else self.step(step)

    # Inner joins.

    def _flattened(self, step: Step) -> tuple[list[Step], list[Expr]]:
        if isinstance(step, Filter):
            leaves, conditions = self._flattened(step.child)
            return leaves, [*conditions, *(part for each in step.conditions for part in factored(each))]
        if isinstance(step, Join) and step.how == "inner":
            left, conditions = self._flattened(step.left)
            right, more = self._flattened(step.right)
            own = [part for each in step.conditions for part in factored(each)]
            return [*left, *right], [*conditions, *more, *own]
        return [step], []

    def _joined(self, leaves: list[Step], conditions: list[Expr], columns: list[str]) -> Step:
        names = [set(leaf.columns) for leaf in leaves]
        own: list[list[Expr]] = [[] for _ in leaves]
        rest: list[Expr] = []
        for condition in conditions:
            reads = columns_of(condition)
            home = next((i for i, known in enumerate(names) if reads and reads <= known), None)
            (rest if home is None else own[home]).append(condition)
        for found, known in zip(own, names, strict=True):
            found += [each for condition in rest if (each := implied(condition, known)) is not None]
        placed = [self._pushed(leaf, found) for leaf, found in zip(leaves, own, strict=True)]
        if len(placed) == 1:
            return Filter(placed[0], tuple(rest)) if rest else placed[0]
        made = self._ordered(self.semi_joins.between(placed, rest), rest)
        return _in_order(made, columns)

    def _ordered(self, leaves: list[Step], conditions: list[Expr]) -> Step:
        sizes = [self.sizes.rows(leaf) for leaf in leaves]
        first = max(range(len(leaves)), key=lambda i: (sizes[i], -i))
        waiting = [i for i in range(len(leaves)) if i != first]
        made, open_conditions = leaves[first], list(conditions)
        keys = KeySizes.of(leaves, [self.sizes.before_filters(leaf) for leaf in leaves], conditions)
        while waiting:
            known = set(made.columns)
            connected = [i for i in waiting if _connects(known, leaves[i], open_conditions)]
            chosen = min(
                connected or waiting,
                key=lambda i: (
                    keys.multiplies(known, leaves[i], sizes[i]),
                    sizes[i] >= BROADCAST_ROWS,
                    self.sizes.fraction(leaves[i]),
                    sizes[i],
                    i,
                ),
            )
            waiting.remove(chosen)
            made, open_conditions = self._join_next(made, leaves[chosen], open_conditions)
        return Filter(made, tuple(open_conditions)) if open_conditions else made

    def _join_next(self, left: Step, right: Step, conditions: list[Expr]) -> tuple[Step, list[Expr]]:
        known = set(left.columns) | set(right.columns)
        ready = [each for each in conditions if columns_of(each) <= known and columns_of(each)]
        rest = [each for each in conditions if each not in ready]
        return Join(left, right, "inner", tuple(ready)), rest

    # Conditions of one input.

    def _pushed(self, step: Step, conditions: list[Expr]) -> Step:
        """The step with conditions applied as early as its kind allows."""
        if not conditions:
            return self.step(step)
        match step:
            case Project():
                items = dict(step.items)
                moved = [refolded(substitute(each, items)) for each in conditions]
                return Project(self._pushed(step.child, moved), step.items)
            case Filter():
                return self.step(Filter(step.child, (*step.conditions, *conditions)))
            case Aggregate() if step.sets is None:
                return self._below_keys(step, conditions)
            case Distinct() if not step.on:
                return Distinct(self._pushed(step.child, conditions))
            case Join():
                return self._into_join(step, conditions)
            case SetOperation():
                sides = [self._pushed(side, conditions) for side in (step.left, step.right)]
                return replace(step, left=sides[0], right=sides[1])
        return Filter(self.step(step), tuple(conditions))

    def _below_keys(self, step: Aggregate, conditions: list[Expr]) -> Step:
        keys = dict(step.keys)
        below = [each for each in conditions if columns_of(each) <= set(keys) and columns_of(each)]
        above = tuple(each for each in conditions if each not in below)
        child = self._pushed(step.child, [refolded(substitute(each, keys)) for each in below])
        made = replace(step, child=child)
        return Filter(made, above) if above else made

    def _into_join(self, step: Join, conditions: list[Expr]) -> Step:
        if step.how == "inner":
            return self.step(Filter(step, tuple(conditions)))
        to_left = step.how in ("left", "semi", "anti")
        to_right = step.how == "right"
        left = [c for c in conditions if to_left and columns_of(c) and columns_of(c) <= set(step.left.columns)]
        right = [c for c in conditions if to_right and columns_of(c) and columns_of(c) <= set(step.right.columns)]
        above = tuple(c for c in conditions if c not in left and c not in right)
        moved = replace(
            step,
            left=Filter(step.left, tuple(left)) if left else step.left,
            right=Filter(step.right, tuple(right)) if right else step.right,
        )
        made = self._outer_join(moved)
        return Filter(made, above) if above else made


def _connects(known: set[str], leaf: Step, conditions: list[Expr]) -> bool:
    own = set(leaf.columns)
    for condition in conditions:
        sides = equality(condition)
        if sides is None:
            continue
        for a, b in (sides, sides[::-1]):
            if columns_of(a) and columns_of(a) <= known and columns_of(b) and columns_of(b) <= own:
                return True
    return False


def _in_order(step: Step, columns: list[str]) -> Step:
    """The columns in the order that the query wrote them, for a star."""
    if list(step.columns) == columns:
        return step
    kinds = step.columns
    return Project(step, tuple((name, Column(kinds[name], name)) for name in columns))


def factored(condition: Expr) -> list[Expr]:
    """A condition as conjuncts: those that all branches of an OR share come first."""
    if isinstance(condition, Call) and condition.function is ops.AND:
        return [part for each in condition.arguments for part in factored(each)]
    if not (isinstance(condition, Call) and condition.function is ops.OR):
        return [condition]
    branches = [factored(each) for each in _alternatives(condition)]
    shared = [each for each in branches[0] if all(each in other for other in branches[1:])]
    if not shared:
        return [condition]
    rests = [[each for each in branch if each not in shared] for branch in branches]
    if not all(rests):
        return shared
    remaining = Call(BOOLEAN, ops.OR, tuple(ops.conjunction(rest) for rest in rests), at=condition.at)
    return [*shared, remaining]


def implied(condition: Expr, columns: set[str]) -> Expr | None:
    """A condition on these columns alone that every row satisfies for which an OR is true; None if there is none."""
    if not (isinstance(condition, Call) and condition.function is ops.OR):
        return None
    branches = [
        [each for each in factored(branch) if columns_of(each) and columns_of(each) <= columns and not may_fail(each)]
        for branch in _alternatives(condition)
    ]
    if not all(branches):
        return None
    return Call(BOOLEAN, ops.OR, tuple(map(ops.conjunction, branches)), at=condition.at)


def _alternatives(condition: Call) -> list[Expr]:
    found: list[Expr] = []
    for each in condition.arguments:
        if isinstance(each, Call) and each.function is ops.OR:
            found += _alternatives(each)
        else:
            found.append(each)
    return found
