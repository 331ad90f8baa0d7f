"""Filters of large tables with texts by the keys of a much smaller table that they are joined with.

    a LEFT JOIN b USING (k)          b has ten times as many rows: it is scanned with the keys of a

Rows with texts cost many times as much to send as to look up, so the filter is added although the smaller table has no
conditions: if a key is in few rows of the larger one, most rows cannot meet any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from cauce.sql_frontend.planning.semi_joins import MOST_KEYS, SemiJoins
from cauce.sql_frontend.planning.sizes import BROADCAST_ROWS
from cauce.sql_frontend.planning.steps import with_inputs
from cauce.sql_frontend.tree import Expr, Join, JoinKind, Step

_TIMES_LARGER = 4
_LARGE_ROWS = 500_000
"""Smaller sides are sent quickly."""

_MOST_KEYS = 2 * MOST_KEYS
"""The rows of the smaller side are known better than those that a condition leaves."""


_FILTERED: dict[JoinKind, Literal["left", "right"]] = {"left": "right", "right": "left", "semi": "left"}
"""The side that keeps no row without a match. An inner join is left out: its larger side often refers to the smaller
one, so that all its rows match."""


@dataclass
class TextSides:
    """Runs after unused columns were dropped: texts that nothing reads do not count."""

    semi_joins: SemiJoins
    _made: dict[int, tuple[Step, Step]] = field(default_factory=dict)

    def step(self, step: Step) -> Step:
        """A shared step stays shared."""
        if id(step) not in self._made:
            made = with_inputs(step, [self.step(each) for each in step.inputs()])
            self._made[id(step)] = (step, self._filtered(made) if isinstance(made, Join) else made)
        return self._made[id(step)][1]

    def _filtered(self, step: Join) -> Join:
        if self.semi_joins.sizes.rows(step.right) < BROADCAST_ROWS:
            return step
        side = _FILTERED.get(step.how)
        if side == "left" and self._is_costly(step.left, step.right):
            return replace(step, left=self._with_keys_of(step.left, step.right, step.conditions))
        if side == "right" and self._is_costly(step.right, step.left):
            return replace(step, right=self._with_keys_of(step.right, step.left, step.conditions))
        return step

    def _with_keys_of(self, step: Step, other: Step, conditions: Iterable[Expr]) -> Step:
        return self.semi_joins.by_any_keys(step, other, conditions, _MOST_KEYS)

    def _is_costly(self, step: Step, other: Step) -> bool:
        rows = self.semi_joins.sizes.rows(step)
        texts = any(kind.dtype in (pl.String, pl.List) for kind in step.columns.values())
        return texts and rows >= max(_LARGE_ROWS, _TIMES_LARGER * self.semi_joins.sizes.rows(other))
