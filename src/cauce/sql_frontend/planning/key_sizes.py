"""Estimates whether a join multiplies rows: from how many values its key can have.

Columns that conditions set equal form a class. A class has at most as many values as the smallest of its tables has
rows: if c_nationkey, s_nationkey and n_nationkey are equal, there are 25 values, those of nation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cauce.sql_frontend.planning.steps import equality
from cauce.sql_frontend.tree import Column, Expr, Step


@dataclass(frozen=True)
class KeySizes:
    """The classes of equal columns, and the number of values of each."""

    classes: tuple[frozenset[str], ...]
    values: tuple[int, ...]

    @classmethod
    def of(cls, leaves: Sequence[Step], rows: Sequence[int], conditions: Sequence[Expr]) -> KeySizes:
        classes: list[frozenset[str]] = []
        for condition in conditions:
            sides = equality(condition)
            if sides is None or not all(isinstance(each, Column) for each in sides):
                continue
            merged = frozenset(each.name for each in sides if isinstance(each, Column))
            touching = [each for each in classes if each & merged]
            classes = [each for each in classes if not each & merged] + [merged.union(*touching)]
        values = [
            min(count for leaf, count in zip(leaves, rows, strict=True) if each & set(leaf.columns)) for each in classes
        ]
        return cls(tuple(classes), tuple(values))

    def multiplies(self, known: set[str], leaf: Step, rows: int) -> bool:
        """Whether a row of the known columns meets several of the leaf's rows, if keys are evenly spread."""
        own, values = set(leaf.columns), 1
        for each, count in zip(self.classes, self.values, strict=True):
            if each & known and each & own:
                values *= max(count, 1)
        return rows > values
