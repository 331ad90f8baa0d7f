"""Several operations of decimals as one kernel: intermediate results stay 64-bit integers if all values fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.integers.narrow import Narrow
from cauce.scan.integers.wide import widened
from cauce.sql_frontend.functions.arithmetic import MANY, NARROW_LIMIT, Checked, bounds, limits
from cauce.sql_frontend.functions.kernel import GuardedKernel
from cauce.sql_frontend.types import SqlType


@dataclass(frozen=True)
class ConstantTerm:
    value: Any
    kind: SqlType

    def column(self, height: int) -> pl.Series:
        return pl.Series([self.value], dtype=self.kind.dtype).new_from_index(0, height)


@lru_cache(maxsize=256)
def _units(term: ConstantTerm) -> int:
    return int(pl.Series([term.value], dtype=term.kind.dtype).to_physical()[0])


@dataclass(frozen=True)
class Terms:
    """An operation and its sides: further ones, constants, or the number of a column."""

    operation: Checked
    left: Terms | ConstantTerm | int
    right: Terms | ConstantTerm | int


@dataclass(frozen=True)
class _Integers:
    """Values in units of the last of `scale` digits, one for each row or one for all, between `low` and `high`."""

    values: npt.NDArray[np.int64] | int
    low: int
    high: int
    scale: int

    def scaled(self, factor: int) -> npt.NDArray[np.int64] | int:
        return self.values if factor == 1 else self.values * factor


@dataclass(frozen=True)
class Formula(GuardedKernel):
    """Adds, subtracts and multiplies decimals. The result is that of its operations one after the other."""

    terms: Terms

    def compute(self, *columns: pl.Series) -> pl.Series:
        *leaves, guard = columns
        found = _integers(self.terms, leaves, {}) if len(leaves[0]) >= MANY else None
        if found is None or isinstance(found.values, int):
            return _stepwise(self.terms, leaves, guard)
        dtype = self.terms.operation.kind.dtype
        assert isinstance(dtype, pl.Decimal)
        return widened(found.values, dtype)


def _stepwise(term: Terms | ConstantTerm | int, leaves: list[pl.Series], guard: pl.Series) -> pl.Series:
    if isinstance(term, int):
        return leaves[term]
    if isinstance(term, ConstantTerm):
        return term.column(len(leaves[0]))
    sides = [_stepwise(side, leaves, guard) for side in (term.left, term.right)]
    return term.operation.compute(*sides, guard)


def _integers(
    term: Terms | ConstantTerm | int, leaves: list[pl.Series], known: dict[int, _Integers | None]
) -> _Integers | None:
    """The values of a term by 64-bit arithmetic; None if one might exceed its range, or is null."""
    if isinstance(term, int):
        if term not in known:
            known[term] = _of_column(leaves[term])
        return known[term]
    if isinstance(term, ConstantTerm):
        units = _units(term)
        return _Integers(units, units, units, term.kind.scale)
    sides = [_integers(side, leaves, known) for side in (term.left, term.right)]
    left, right = sides
    return None if left is None or right is None else _combined(term.operation, left, right)


def _of_column(column: pl.Series) -> _Integers | None:
    found = Narrow.of(column)
    if found is None:
        return None
    scale = column.dtype.scale if isinstance(column.dtype, pl.Decimal) else 0
    return _Integers(found.values, found.low, found.high, scale)


def _combined(checked: Checked, left: _Integers, right: _Integers) -> _Integers | None:
    kind, operation = checked.kind, checked.operation
    up = [0 if operation == "multiply" else kind.scale - each.scale for each in (left, right)]
    factors = [10 ** max(each, 0) for each in up]
    ends = [(each.low * factor, each.high * factor) for each, factor in zip((left, right), factors, strict=True)]
    results = bounds(operation, *ends)
    low, high = limits(kind)
    fit = all(abs(end) < NARROW_LIMIT for end in (*ends[0], *ends[1], *results, *factors))
    if not fit or min(results) < low or max(results) > high:
        return None
    a, b = left.scaled(factors[0]), right.scaled(factors[1])
    values = a * b if operation == "multiply" else a - b if operation == "subtract" else a + b
    return _Integers(values, min(results), max(results), kind.scale)
