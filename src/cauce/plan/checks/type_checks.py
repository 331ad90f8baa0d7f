"""Type errors of a query, found before any file is read: conditions, keys, aggregates and the outputs of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.plan.checks.mistakes import place_of
from cauce.plan.nodes import Node
from cauce.plan.outputs import INTEGER, WIDE_INTEGER, DecimalOutput, Output
from cauce.plan.schema import Schema, type_name


class Misplaced(PlanError):
    """A type error of a step, with the location in the user's code that declares the step."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def check_types(node: Node) -> None:
    """Raises Misplaced for the first step, in execution order, that has a type error."""
    for each in _bottom_up(node, set()):
        try:
            each.check()
            each.schema  # noqa: B018  (raises for a type error)
        except PlanError as problem:
            where = place_of(each)
            raise (Misplaced(str(problem), where) if where else problem) from None


def _bottom_up(node: Node, seen: set[Node]) -> Iterator[Node]:
    if node in seen:
        return
    seen.add(node)
    for child in node.inputs:
        yield from _bottom_up(child, seen)
    yield node


# Outputs.


def fitted_outputs(schema: Schema, outputs: Mapping[str, Output]) -> dict[str, Output]:
    """The outputs adapted to columns of these types. Raises PlanError if a type does not fit its output."""
    return {name: _fitted(name, output, schema.get(name, UNKNOWN)) for name, output in outputs.items()}


def _fitted(name: str, output: Output, dtype: pl.DataType) -> Output:
    if dtype in (UNKNOWN, pl.Null):
        return output
    hint = _misfit(output, dtype)
    if hint:
        raise PlanError(f"column {name} is {type_name(dtype)}; {hint}")
    return WIDE_INTEGER if output is INTEGER and (dtype == pl.Int128 or isinstance(dtype, pl.Decimal)) else output


def _misfit(output: Output, dtype: pl.DataType) -> str:
    """A hint for the right declaration; empty if the output accepts this type."""
    whole = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)
    if isinstance(output, DecimalOutput) and output.unscaled and not whole:
        return "decimal(..., unscaled=True) takes whole numbers: declare it as decimal(...)"
    wanted = output.dtype
    if wanted == pl.String and dtype.is_nested():
        return "declare it as TEXT_LIST"
    if isinstance(wanted, pl.List) and not isinstance(dtype, pl.List):
        return f"declare it as {_suited(dtype)}, not as a list"
    if wanted == pl.Int64 and not (whole or dtype == pl.Boolean):
        return f"declare it as {_suited(dtype)}, not INTEGER"
    if wanted == pl.Date and not dtype.is_temporal():
        return f"declare it as {_suited(dtype)}, not DATE"
    if (wanted == pl.Float64 or isinstance(wanted, pl.Decimal)) and not (dtype.is_numeric() or dtype == pl.Boolean):
        return f"declare it as {_suited(dtype)}, not as a number"
    return ""


def _suited(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "INTEGER"
    if isinstance(dtype, pl.Decimal):
        return "decimal(2) or DECIMAL"
    if dtype.is_float():
        return "FLOAT"
    if dtype == pl.Date:
        return "DATE"
    return "TEXT_LIST" if isinstance(dtype, pl.List) else "TEXT"
