"""Estimates how many rows a step has, from the sizes of the tables and the kinds of its conditions.

Estimates depend on the text and on the catalogue only, so that every process makes the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from cauce.sql_frontend.catalogue import Catalogue
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.tree import (
    Aggregate,
    Call,
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

UNKNOWN_ROWS = 1_000_000

BROADCAST_ROWS = 250_000
"""A side that is expected to have fewer rows is sent to every task."""

_EQUAL = 0.1
_COMPARED = 0.4
_COMPARED_COLUMNS = 0.5
_OTHER = 0.2
_LEAST = 0.02
"""No filter is expected to keep fewer rows: a side that is wrongly taken for small is sent to every task."""

_LEAST_KEYS = 0.2
"""The same for a filter by keys, which are estimated themselves."""

_RANGES = tuple(ops.COMPARISONS[name] for name in ("<", "<=", ">", ">="))
_UNEQUAL = tuple(ops.COMPARISONS[name] for name in ("<>", "is distinct from"))


@dataclass(frozen=True)
class Sizes:
    catalogue: Catalogue

    def rows(self, step: Step) -> int:
        """An estimate of the number of rows that is rather too high."""
        match step:
            case Scan():
                table = self.catalogue.find(step.table)
                return table.rows if table is not None and table.rows else UNKNOWN_ROWS
            case Values():
                return len(step.rows)
            case Filter():
                return max(1, int(self.rows(step.child) * selectivity(step.conditions)))
            case KeyFilter():
                return max(1, int(self.rows(step.child) * max(self.fraction(step.keys), _LEAST_KEYS)))
            case Aggregate():
                return max(1, self.rows(step.child) // 4) if step.keys else 1
            case Limit():
                below = self.rows(step.child)
                return below if step.limit is None or step.per else min(step.limit, below)
            case Join(how="semi" | "anti"):
                return max(1, self.rows(step.left) // 2)
            case Join():
                return max(self.rows(step.left), self.rows(step.right))
            case SetOperation():
                return self.rows(step.left) + self.rows(step.right)
            case Project() | Distinct() | Window() | Unnest():
                return self.rows(step.child)
        return UNKNOWN_ROWS

    def before_filters(self, step: Step) -> int:
        while isinstance(step, Filter | KeyFilter | Project):
            step = step.child
        return self.rows(step)

    def fraction(self, step: Step) -> float:
        """The share of the keys of a step that its conditions and joins are expected to keep."""
        match step:
            case Filter():
                return self.fraction(step.child) * selectivity(step.conditions)
            case KeyFilter():
                return self.fraction(step.child) * self.fraction(step.keys)
            case Join(how="inner"):
                return self.fraction(step.left) * self.fraction(step.right)
            case Join(how="semi"):
                return self.fraction(step.left) * 0.5
            case Join(how="left" | "anti"):
                return self.fraction(step.left)
            case Project() | Distinct() | Window() | Aggregate():
                return self.fraction(step.child)
        return 1.0


def selectivity(conditions: Sequence[Expr]) -> float:
    """The share of rows that satisfy all conditions, if they are independent."""
    return max(prod(_kept(each) for each in conditions), _LEAST)


def _kept(condition: Expr) -> float:
    if not isinstance(condition, Call):
        return _OTHER
    function, arguments = condition.function, condition.arguments
    if function is ops.AND:
        return selectivity(arguments)
    if function is ops.OR:
        return min(sum(map(_kept, arguments)), 1.0)
    if function is ops.NOT:
        return 1.0 - _kept(arguments[0])
    if function is ops.IN_LIST:
        return min(_EQUAL * (len(arguments) - 1), _COMPARED)
    if function in _UNEQUAL:
        return 1.0 - _EQUAL
    if function in _RANGES:
        return _COMPARED_COLUMNS if all(columns_of(each) for each in arguments) else _COMPARED
    if function is ops.COMPARISONS["="]:
        return _EQUAL
    return _OTHER
