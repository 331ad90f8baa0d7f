"""Type errors of a query, found before any file is read: conditions, keys, aggregates and the outputs of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregate import Aggregate, Mean, Quantile, Sum
from cauce.operators.order import POSITION, Ratio, SortKey
from cauce.plan import nodes
from cauce.plan.mistakes import place_of
from cauce.plan.outputs import INTEGER, WIDE_INTEGER, Output, PlacesOutput
from cauce.plan.schema import UNKNOWN, Schema, common_type, expression_types, schema_of, shown, type_name


class Misplaced(PlanError):
    """A type error of a step, with the place in the user's code where the step is declared."""

    def __init__(self, said: str, place: str) -> None:
        super().__init__(said)
        self.place = place


def check_types(node: nodes.Node) -> None:
    """Raises for the first step, in the order in which they run, that its columns' types do not allow."""
    for each in _bottom_up(node, set()):
        try:
            _check(each)
            schema_of(each)
        except PlanError as problem:
            where = place_of(each)
            raise (Misplaced(str(problem), where) if where else problem) from None


def _bottom_up(node: nodes.Node, seen: set[nodes.Node]) -> Iterator[nodes.Node]:
    if node in seen:
        return
    seen.add(node)
    for child in node.inputs:
        yield from _bottom_up(child, seen)
    yield node


def _check(node: nodes.Node) -> None:
    match node:
        case nodes.Filter(child, predicates):
            _check_conditions(schema_of(child), predicates)
        case nodes.Explode(child, column):
            _check_list(column, schema_of(child)[column])
        case nodes.Join(left, right, on):
            _check_join(schema_of(left), schema_of(right), on)
        case nodes.Concat(first, second):
            _check_concat(schema_of(first), schema_of(second))
        case nodes.GroupBy(child, keys, aggregates):
            _check_keys("group_by", schema_of(child), keys)
            _check_aggregates(schema_of(child), aggregates)
        case nodes.TopK(child, by=by, per=per):
            _check_keys("top_k: per", schema_of(child), per)
            _check_order(schema_of(child), by)
        case nodes.Sort(child, by):
            _check_order(schema_of(child), by)


def _check_conditions(schema: Schema, predicates: Sequence[pl.Expr]) -> None:
    named = [each.alias(str(number)) for number, each in enumerate(predicates)]
    types = expression_types(schema, named)
    for number, each in enumerate(predicates):
        dtype = types[str(number)]
        if dtype not in (pl.Boolean, pl.Null, UNKNOWN):
            raise PlanError(
                f"filter takes conditions that are true or false, and {shown(each)} is {type_name(dtype)}; "
                'write a comparison, such as pl.col("n") > 1'
            )


def _check_list(column: str, dtype: pl.DataType) -> None:
    if dtype != UNKNOWN and not isinstance(dtype, pl.List):
        raise PlanError(f"explode needs a list, and {column} is {type_name(dtype)}")


def _check_join(left: Schema, right: Schema, on: Sequence[str]) -> None:
    _check_keys("join", left, on)
    for key in on:
        one, other = left[key], right[key]
        alike = one == other or UNKNOWN in (one, other) or (one.is_integer() and other.is_integer())
        if not alike:
            raise PlanError(
                f"join on {key}: it is {type_name(one)} on the left and {type_name(other)} on the right; "
                "give both sides the same kind, or cast one with with_columns"
            )


def _check_concat(first: Schema, second: Schema) -> None:
    for name, dtype in first.items():
        try:
            common_type(dtype, second[name])
        except TypeError as problem:
            raise PlanError(f"concat: {name} is {problem}; give both the same type, with cast") from None


def _check_keys(method: str, schema: Schema, keys: Sequence[str]) -> None:
    for key in keys:
        if isinstance(schema[key], pl.List):
            raise PlanError(f'{method}: {key} is a list, which cannot be a key; use explode("{key}") first')


def _check_aggregates(schema: Schema, aggregates: Mapping[str, Aggregate]) -> None:
    for name, each in aggregates.items():
        if not isinstance(each, Sum | Mean | Quantile):
            continue
        dtype = schema[each.column]
        allowed = dtype == UNKNOWN or dtype.is_numeric() or (dtype == pl.Boolean and not isinstance(each, Quantile))
        if not allowed:
            what = {Sum: "total", Mean: "mean", Quantile: "quantile"}[type(each)]
            raise PlanError(
                f'agg: {name}={what}("{each.column}") needs numbers, and {each.column} is {type_name(dtype)}; '
                "declare the column as Integer() or Decimal(), or cast it"
            )


def _check_order(schema: Schema, by: Sequence[SortKey]) -> None:
    for key in by:
        names = [name for name in key.columns if name != POSITION]
        for name in names:
            dtype = schema[name]
            exact = dtype == UNKNOWN or dtype.is_integer() or isinstance(dtype, pl.Decimal)
            if isinstance(key.what, Ratio) and not exact:
                raise PlanError(f"ratio compares integers and decimals, and {name} is {type_name(dtype)}")


# Outputs.


def fitted_outputs(schema: Schema, outputs: Mapping[str, Output]) -> dict[str, Output]:
    """The outputs of an answer for columns of these types. Raises PlanError where a type does not fit."""
    return {name: _fitted(name, output, schema.get(name, UNKNOWN)) for name, output in outputs.items()}


def _fitted(name: str, output: Output, dtype: pl.DataType) -> Output:
    if dtype in (UNKNOWN, pl.Null):
        return output
    hint = _misfit(output, dtype)
    if hint:
        raise PlanError(f"column {name} is {type_name(dtype)}; {hint}")
    return WIDE_INTEGER if output is INTEGER and (dtype == pl.Int128 or isinstance(dtype, pl.Decimal)) else output


def _misfit(output: Output, dtype: pl.DataType) -> str:
    """What to declare instead, or nothing where the output takes such values."""
    whole = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)
    if isinstance(output, PlacesOutput) and output.scaled and not whole:
        return "scaled(...) takes whole numbers: declare it as places(...)"
    wanted = output.dtype
    if wanted == pl.String and dtype.is_nested():
        return "declare it as TEXTS"
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
        return "places(2) or PLAIN"
    if dtype.is_float():
        return "FLOAT"
    if dtype == pl.Date:
        return "DATE"
    return "TEXTS" if isinstance(dtype, pl.List) else "TEXT"
