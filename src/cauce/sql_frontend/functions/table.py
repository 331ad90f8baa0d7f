"""The table of functions: an entry has a name, parameters, a result type, a translation, a sentence and an example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cauce.sql_frontend.functions.kernel import Kernel, run
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import SqlType

Result = SqlType | Callable[[Sequence[SqlType]], SqlType]


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call: expressions, their types, and the values of those that are constants."""

    exprs: tuple[pl.Expr, ...]
    types: tuple[SqlType, ...]
    constants: tuple[Any, ...]
    is_constant: tuple[bool, ...]
    type: SqlType
    guard: pl.Expr
    where: str
    at: int

    def __getitem__(self, index: int) -> pl.Expr:
        return self.exprs[index]

    def __len__(self) -> int:
        return len(self.exprs)

    def constant(self, index: int, what: str) -> Any:
        if not self.is_constant[index]:
            raise StatementError(f"{what} must be a constant", self.at)
        return self.constants[index]

    def run(self, kernel: Kernel, *exprs: pl.Expr) -> pl.Expr:
        return run(kernel, self.type.dtype, *(exprs or self.exprs))


@dataclass(frozen=True, eq=False)
class Function:
    """`parameters` are type names: exact ones, ANY, NUMBER, INTEGRAL, LIST, or SAME for arguments of one common type.
    The last `optional` of them may be left out; with `variadic` the last one may repeat. `checks`: a value may be an
    error, so that a CASE must guard it."""

    name: str
    parameters: tuple[str, ...]
    result: Result
    build: Callable[[Arguments], pl.Expr]
    doc: str = ""
    example: str = ""
    group: str = ""
    optional: int = 0
    variadic: bool = False
    checks: bool = False
    aliases: tuple[str, ...] = ()
    operation: str = ""
    """Of checked arithmetic: calls that are arguments of one another are computed together."""
    refine: Callable[[SqlType, Sequence[Any]], SqlType] | None = None
    """Adapts the result type to the values of constant arguments."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("functions of SQL are not serialised")

    def result_type(self, types: Sequence[SqlType]) -> SqlType:
        return self.result if isinstance(self.result, SqlType) else self.result(types)

    def expected(self, count: int) -> tuple[str, ...] | None:
        """The parameter of each of `count` arguments; None for a wrong number."""
        least, most = len(self.parameters) - self.optional, len(self.parameters)
        if count < least or (count > most and not self.variadic):
            return None
        return tuple(self.parameters[min(index, most - 1)] for index in range(count))

    @property
    def signature(self) -> str:
        given = list(self.parameters)
        shown = [f"{name.lower()}" for name in given]
        for index in range(len(shown) - self.optional, len(shown)):
            shown[index] = f"[{shown[index]}]"
        return f"{self.name}({', '.join(shown)}{', ...' if self.variadic else ''})"


@dataclass
class Table:
    """Functions by name; a name may have several overloads."""

    by_name: dict[str, list[Function]] = field(default_factory=dict)

    def add(self, function: Function) -> Function:
        for name in (function.name, *function.aliases):
            self.by_name.setdefault(name, []).append(function)
        return function

    def functions(self) -> list[Function]:
        """Every function once."""
        return list(dict.fromkeys(each for overloads in self.by_name.values() for each in overloads))


TABLE = Table()
_group = [""]


def group(name: str) -> None:
    """Names the group of the functions that are defined next."""
    _group[0] = name


def define(
    name: str,
    parameters: str,
    result: Result,
    build: Callable[[Arguments], pl.Expr],
    doc: str,
    example: str,
    **more: Any,
) -> Function:
    """Adds a function to the table. `parameters` are separated by spaces; `?` marks an optional one, `*` a repeated
    last one."""
    names = parameters.split()
    function = Function(
        name,
        tuple(each.rstrip("?*") for each in names),
        result,
        build,
        doc,
        example,
        _group[0],
        optional=sum(each.endswith("?") for each in names),
        variadic=bool(names) and names[-1].endswith("*"),
        **more,
    )
    return TABLE.add(function)
