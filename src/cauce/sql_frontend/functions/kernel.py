"""Kernels: functions on whole columns for what Polars expressions lack, such as checked arithmetic.

A kernel is a frozen dataclass, so that equal calls give equal plans. A row outside the guard (a branch of CASE that is
not taken) may hold anything and never raises.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cauce.errors import JobFailed


class ValueFailed(JobFailed):
    """A value for which an expression has no result. Drops the description of the Polars expression that Polars appends
    when it raises the error again, because a user of SQL does not know that expression."""

    def __init__(self, message: str) -> None:
        super().__init__(message.partition("\n\nThis error occurred in the following expression")[0])


@dataclass(frozen=True)
class Kernel:
    """`where` names the place in the SQL text for errors of values."""

    where: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        raise NotImplementedError

    def __call__(self, rows: pl.Series) -> pl.Series:
        return self.compute(*rows.struct.unnest().get_columns())

    def __getstate__(self) -> dict[str, object]:
        """Without the place in the text: plans compare kernels by their bytes, and equal steps of two statements are
        computed once."""
        return {**self.__dict__, "where": ""}

    def fail(self, what: str) -> JobFailed:
        return ValueFailed(f"{self.where}: {what}")


@dataclass(frozen=True)
class GuardedKernel(Kernel):
    """The last column is the guard: an error counts only where it is true."""

    def bad_rows(self, bad: pl.Series, guard: pl.Series) -> pl.Series:
        return (bad & guard).fill_null(False)


def run(kernel: Kernel, dtype: pl.DataType, *arguments: pl.Expr) -> pl.Expr:
    """The expression that applies a kernel to its arguments row by row."""
    named = [each.alias(str(number)) for number, each in enumerate(arguments)]
    return pl.struct(named).map_batches(kernel, return_dtype=dtype, is_elementwise=True)
