"""Typed expressions to Polars expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cauce.errors import JobFailed
from cauce.sql_frontend.casts import translate_cast
from cauce.sql_frontend.functions.arithmetic import NARROW, Checked
from cauce.sql_frontend.functions.formula import ConstantTerm, Formula, Terms
from cauce.sql_frontend.functions.kernel import Kernel, run
from cauce.sql_frontend.functions.table import Arguments
from cauce.sql_frontend.functions.time_kernels import FIELDS
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Call, Case, Cast, Column, Constant, Expr, walk
from cauce.sql_frontend.types import SqlType

ALWAYS = pl.lit(True)

Where = Callable[[int], str]


class Translator:
    """`where` describes an offset in the text, for errors of values. `columns` replaces columns by expressions."""

    def __init__(self, where: Where, columns: Mapping[str, pl.Expr] | None = None) -> None:
        self._where = where
        self._columns = columns or {}

    def __call__(self, expr: Expr, guard: pl.Expr = ALWAYS) -> pl.Expr:
        match expr:
            case Column(name=name):
                return self._columns.get(name, pl.col(name))
            case Constant(value=value, type=kind):
                return literal(value, kind)
            case Cast():
                inner = self(expr.operand, guard)
                where = self._where(expr.at)
                return translate_cast(inner, expr.operand.type, expr.type, guard, expr.quiet, where)
            case Case():
                return self._case(expr, guard)
            case Call():
                return self._call(expr, guard)
        raise StatementError(f"{type(expr).__name__} is not allowed here", expr.at)

    def _call(self, call: Call, guard: pl.Expr) -> pl.Expr:
        if _is_decimal_arithmetic(call):
            return self._formula(call, guard)
        arguments = Arguments(
            tuple(self(each, guard) for each in call.arguments),
            tuple(each.type for each in call.arguments),
            tuple(each.value if isinstance(each, Constant) else None for each in call.arguments),
            tuple(isinstance(each, Constant) for each in call.arguments),
            call.type,
            guard,
            self._where(call.at),
            call.at,
        )
        return call.function.build(arguments)

    def _formula(self, call: Call, guard: pl.Expr) -> pl.Expr:
        """Arithmetic of decimals, with calls that are arguments of one another as one kernel."""
        leaves: list[Expr] = []
        terms = self._terms(call, leaves)
        made = [self(each, guard) for each in leaves]
        if not made:
            # A kernel over constants alone would be called with one row.
            made, terms = [self(each, guard) for each in call.arguments], replace(terms, left=0, right=1)
        return run(Formula(self._where(call.at), terms), call.type.dtype, *made, guard)

    def _terms(self, call: Call, leaves: list[Expr]) -> Terms:
        left, right = (self._term(each, leaves) for each in call.arguments)
        return Terms(Checked(self._where(call.at), call.function.operation, call.type), left, right)

    def _term(self, expr: Expr, leaves: list[Expr]) -> Terms | ConstantTerm | int:
        if isinstance(expr, Call) and _is_decimal_arithmetic(expr):
            return self._terms(expr, leaves)
        if isinstance(expr, Constant) and expr.value is not None and expr.type.name == "DECIMAL":
            return ConstantTerm(expr.value, expr.type)
        if expr not in leaves:
            leaves.append(expr)
        return leaves.index(expr)

    def _case(self, case: Case, guard: pl.Expr) -> pl.Expr:
        values = [*(value for _, value in case.branches), case.default]
        if all(isinstance(each, Constant) for each in values):
            return self._choice(case, guard)
        rest = guard
        chain: Any = None
        for condition, value in case.branches:
            tested = self(condition, rest)
            holds = tested.fill_null(False)
            taken = rest & holds if may_fail(value) else rest
            then = self(value, taken)
            chain = pl.when(holds).then(then) if chain is None else chain.when(holds).then(then)
            rest = rest & ~holds
        assert chain is not None
        made: pl.Expr = chain.otherwise(self(case.default, rest if may_fail(case.default) else guard))
        return made

    def _choice(self, case: Case, guard: pl.Expr) -> pl.Expr:
        """A CASE of constants. Polars may return one row for it instead of one per row."""
        conditions, rest = [], guard
        for condition, _ in case.branches:
            conditions.append(self(condition, rest).fill_null(False))
            rest = rest & ~conditions[-1]
        values = [*(value for _, value in case.branches), case.default]
        constants = tuple(value.value for value in values if isinstance(value, Constant))
        return run(Choose("", case.type, constants), case.type.dtype, *conditions)


@dataclass(frozen=True)
class Choose(Kernel):
    """The constant of the first condition that is true, or the last one."""

    kind: SqlType
    values: tuple[Any, ...]

    def compute(self, *columns: pl.Series) -> pl.Series:
        chosen = pl.Series(np.full(len(columns[0]), len(columns), dtype=np.int64))
        for number, holds in reversed(list(enumerate(columns))):
            chosen = pl.Series([number]).new_from_index(0, len(holds)).zip_with(holds, chosen)
        given = [
            dict(zip(FIELDS, each, strict=True)) if self.kind.name == "INTERVAL" and each else each
            for each in self.values
        ]
        return pl.Series(given, dtype=self.kind.dtype)[chosen]


def _is_decimal_arithmetic(call: Call) -> bool:
    return call.function.operation in NARROW and call.type.name == "DECIMAL"


def may_fail(expr: Expr) -> bool:
    return any(isinstance(each, Cast) or (isinstance(each, Call) and each.function.checks) for each in walk(expr))


def literal(value: Any, kind: SqlType) -> pl.Expr:
    if value is None:
        return pl.lit(None, dtype=kind.dtype)
    if kind.name == "INTERVAL":
        fields = zip(("months", "days", "micros"), value, strict=True)
        return pl.struct([pl.lit(number, dtype=pl.Int64).alias(name) for name, number in fields])
    if kind.element is not None:
        return pl.lit(pl.Series([value], dtype=kind.dtype)).first()
    if kind.is_integer or kind.name == "DECIMAL":
        return (
            pl.lit(pl.Series([value], dtype=kind.dtype)).first()
            if abs(value) >= 2**63
            else pl.lit(value, dtype=kind.dtype)
        )
    return pl.lit(value, dtype=kind.dtype)


def _decided(case: Case) -> Expr:
    """Without the branches of constant conditions. Polars would return one row for such a CASE instead of one per
    row."""
    branches: list[tuple[Expr, Expr]] = []
    default = case.default
    for condition, value in case.branches:
        if not isinstance(condition, Constant):
            branches.append((condition, value))
        elif condition.value:
            default = value
            break
    if not branches:
        return default
    return replace(case, branches=tuple(branches), default=default)


def refolded(expr: Expr) -> Expr:
    """As `folded`, for all sub-expressions."""
    children = expr.children()
    made = tuple(refolded(child) for child in children)
    changed = expr if all(a is b for a, b in zip(made, children, strict=True)) else expr.with_children(made)
    return folded(changed)


def folded(expr: Expr) -> Expr:
    """A constant instead of an expression of constants. An expression that fails stays: its error belongs to the rows
    that need it."""
    if isinstance(expr, Case):
        expr = _decided(expr)
    if not expr.children() or not all(isinstance(each, Constant) for each in expr.children()):
        return expr
    if not isinstance(expr, Call | Cast | Case):
        return expr
    try:
        value = pl.DataFrame({"#": [0]}).select(Translator(lambda at: "")(expr).alias("v")).to_series()[0]
    except (JobFailed, pl.exceptions.PolarsError, ValueError, OverflowError):
        # Also a time that Python's types do not hold.
        return expr
    if isinstance(value, dict):
        value = tuple(value.values())
    return Constant(expr.type, value.to_list() if isinstance(value, pl.Series) else value, at=expr.at)
