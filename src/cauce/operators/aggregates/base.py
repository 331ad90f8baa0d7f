"""An aggregate: one output of a group-by, computed through a mergeable state.

    partial   the state of each group of one batch of rows
    merge     combines states in any order: commutative, associative, exact
    final     the values of merged states

The result of a group-by therefore never depends on the batch boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

UNKNOWN = pl.Unknown()
"""The type of a column that is known only at run time."""

Types = Mapping[str, pl.DataType]
Finish = Callable[[pl.DataFrame], pl.DataFrame]


Numbers = npt.NDArray[np.int64]


@dataclass
class Batch:
    """The rows or states being grouped. An aggregate that needs more than expressions adds a function to `finish`,
    which is called with the finished groups."""

    frame: pl.DataFrame
    keys: Sequence[str]
    numbers: Sequence[Numbers | None] = ()
    """For each key, a number of its value in each row, the same one only for equal values; None where these are not
    known. Empty if none are."""
    finish: list[Finish] = field(default_factory=list)


@dataclass(frozen=True)
class Addend:
    """A column of states that are sums over the rows of a group: of integers, or of a constant. Integers of 128 bits
    are rows of a low and a high half."""

    dtype: pl.DataType
    values: npt.NDArray[np.int64] | None = None
    constant: int = 0


class RowValues(Protocol):
    """The columns of a batch as integers."""

    def dtype(self, column: str) -> pl.DataType: ...

    def filled(self, column: str) -> npt.NDArray[np.int64] | None:
        """1 for each value, 0 for each null; None if there are no nulls."""

    def of(self, column: str) -> npt.NDArray[np.int64] | None:
        """Integers, or decimals in units of their last digit; 0 for nulls. Decimals have 128 bits if a sum may exceed
        64. None if a sum may exceed the bits of its values."""


@dataclass(frozen=True)
class Aggregate:
    """Base class of all aggregates. A subclass is a frozen dataclass of its parameters.

    For the output `name`, its state is in the columns `state(name)`; at least one of them has that name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return ()

    @property
    def label(self) -> str:
        """The name of the aggregate in queries."""
        return type(self).__name__.lower()

    @property
    def predicates(self) -> tuple[pl.Expr, ...]:
        """The conditions that its rows must satisfy."""
        return ()

    @property
    def has_state(self) -> bool:
        """Whether it is computed through a mergeable state; otherwise the plan replaces it by other aggregates."""
        return True

    @property
    def zero_if_none(self) -> bool:
        """Whether its value is zero instead of null if there are no values."""
        return False

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        """The same aggregate of other columns, which are null in the rows to ignore. `where` is a column that is 1 in
        the other rows and null in these."""
        raise NotImplementedError(f"{self!r} takes no filter")

    def state(self, name: str) -> tuple[str, ...]:
        """All columns that its state may have."""
        return (name,)

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        """Expressions that compute a group's state from its rows."""
        raise NotImplementedError(f"{self!r} has no partial state")

    def of_row(self, types: Types, name: str) -> list[pl.Expr] | None:
        """Expressions that compute the state of a group of one row; None if there are none. An aggregate may have them
        to save the grouping of batches whose rows have different keys."""
        return None

    def addends(self, rows: RowValues, name: str) -> dict[str, Addend] | None:
        """The columns of its state, if they are sums over rows; None if they are not. An aggregate may have them to be
        computed by a kernel, with the same states as by `partial`."""
        return None

    def adds(self, types: Types, name: str) -> bool:
        """Whether its states, of these types, are merged by adding integers."""
        return False

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        """Expressions that combine the states of a group into one."""
        raise NotImplementedError(f"{self!r} has no state to merge")

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        """The values, one per merged state."""
        return states[name]

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        """The non-null state columns of an empty input."""
        return {}

    def dtype(self, types: Types) -> pl.DataType:
        """The type of its values, given the types of the columns."""
        raise NotImplementedError(f"{self!r} has no type")

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether it supports values of this type."""
        return True

    @property
    def needs(self) -> tuple[str, str]:
        """The accepted types and an example, for error messages."""
        return "numbers", "declare the column as Integer() or Decimal(), or cast it"

    def __str__(self) -> str:
        return f"{self.label}({', '.join(self.columns)})"


Aggregates = Mapping[str, Aggregate]


@dataclass(frozen=True)
class OfColumn(Aggregate):
    """Base class of aggregates that read one column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def over(self, names: Mapping[str, str], where: str) -> Aggregate:
        return replace(self, column=names[self.column])

    def dtype(self, types: Types) -> pl.DataType:
        return types.get(self.column, UNKNOWN)


def is_number(dtype: pl.DataType) -> bool:
    return dtype == UNKNOWN or dtype.is_numeric()


def list_of(dtype: pl.DataType) -> pl.DataType:
    return UNKNOWN if dtype == UNKNOWN else pl.List(dtype)
