"""The types of a relation's columns, known before any file is read.

Polars itself decides the type of an expression, on a frame without rows. Where only a run could tell (a function in
Python without a declared type), a type is ``UNKNOWN`` and nothing that depends on it is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregate import (
    Aggregate,
    Collect,
    Count,
    CountDistinct,
    First,
    Max,
    Mean,
    Min,
    Mode,
    ModeCount,
    Quantile,
    Sum,
)
from cauce.operators.exact import WHOLE
from cauce.operators.order import POSITION
from cauce.plan import nodes

Schema = Mapping[str, pl.DataType]
UNKNOWN = pl.Unknown()

_TYPE_ERRORS = (
    pl.exceptions.SchemaError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.ComputeError,
    pl.exceptions.ColumnNotFoundError,
)
_schemas: WeakKeyDictionary[nodes.Node, Schema] = WeakKeyDictionary()


def schema_of(node: nodes.Node) -> Schema:
    """The type of each column that a node of a declared query gives."""
    if node not in _schemas:
        _schemas[node] = _schema_of(node)
    return _schemas[node]


def _schema_of(node: nodes.Node) -> Schema:
    match node:
        case nodes.Scan(table):
            return {name: column.kind.dtype for name, column in table.columns.items()}
        case nodes.Filter(child) | nodes.TopK(child) | nodes.Sort(child):
            return schema_of(child)
        case nodes.WithColumns(child, expressions):
            return {**schema_of(child), **expression_types(schema_of(child), expressions)}
        case nodes.Select(child, expressions):
            return expression_types(schema_of(child), expressions)
        case nodes.Explode(child, column):
            return {**schema_of(child), column: _element(schema_of(child)[column])}
        case nodes.Join(left, right, _, how):
            return schema_of(left) if how in ("semi", "anti") else {**schema_of(right), **schema_of(left)}
        case nodes.Scalars(left, right):
            return {**schema_of(left), **schema_of(right)}
        case nodes.Concat(first, second):
            return {name: common_type(each, schema_of(second)[name]) for name, each in schema_of(first).items()}
        case nodes.GroupBy(child, keys, aggregates):
            types = schema_of(child)
            made = {name: aggregate_type(each, types) for name, each in aggregates.items()}
            return {**{key: types[key] for key in keys}, **made}
    raise TypeError(f"{type(node).__name__} is no step of a declared query")


def _element(dtype: pl.DataType) -> pl.DataType:
    return _instance(dtype.inner) if isinstance(dtype, pl.List) else UNKNOWN


def _instance(dtype: object) -> pl.DataType:
    made = dtype() if isinstance(dtype, type) else dtype
    assert isinstance(made, pl.DataType)
    return made


def common_type(first: pl.DataType, second: pl.DataType) -> pl.DataType:
    """The type of two columns put one below the other; integers take the wider one."""
    if first == second or UNKNOWN in (first, second):
        return first if first == second else UNKNOWN
    if first.is_integer() and second.is_integer():
        frames = [pl.DataFrame(schema={"column": dtype}) for dtype in (first, second)]
        return pl.concat(frames, how="vertical_relaxed").schema["column"]
    raise TypeError(f"{type_name(first)} and {type_name(second)}")


def aggregate_type(aggregate: Aggregate, types: Schema) -> pl.DataType:
    if isinstance(aggregate, Count | CountDistinct | ModeCount):
        return pl.Int64()
    (dtype,) = {types.get(name, UNKNOWN) for name in aggregate.columns if name != POSITION}
    match aggregate:
        case Mean() | Quantile():
            return pl.Float64()
        case Sum():
            return _sum_type(dtype)
        case Mode() | Collect():
            return UNKNOWN if dtype == UNKNOWN else pl.List(dtype)
        case Min() | Max() | First():
            return dtype
    raise TypeError(f"{aggregate!r} has no type")


def _sum_type(dtype: pl.DataType) -> pl.DataType:
    if dtype == UNKNOWN:
        return UNKNOWN
    if dtype.is_float():
        return pl.Float64()
    return pl.Decimal(38, dtype.scale) if isinstance(dtype, pl.Decimal) else WHOLE


def expression_types(schema: Schema, expressions: Sequence[pl.Expr]) -> dict[str, pl.DataType]:
    """The type of each expression, by its name. Raises PlanError for one that its columns' types do not allow."""
    known = [each for each in expressions if not _has_function(each) and not _reads_unknown(schema, each)]
    found = _types_on_no_rows(schema, known)
    return {
        name: found[name] if name in found else _declared_type(schema, each)
        for each in expressions
        for name in [each.meta.output_name()]
    }


def _has_function(expression: pl.Expr) -> bool:
    return "python_udf" in str(expression)


def _reads_unknown(schema: Schema, expression: pl.Expr) -> bool:
    return any(schema.get(name) == UNKNOWN for name in expression.meta.root_names())


def _types_on_no_rows(schema: Schema, expressions: Sequence[pl.Expr]) -> dict[str, pl.DataType]:
    frame = _no_rows(schema, expressions)
    try:
        return dict(frame.select(expressions).schema) if expressions else {}
    except _TYPE_ERRORS:
        for each in expressions:
            _check_alone(frame, each, schema)
        raise


def _check_alone(frame: pl.DataFrame, expression: pl.Expr, schema: Schema) -> None:
    try:
        frame.select(expression)
    except _TYPE_ERRORS as problem:
        first_line = str(problem).strip().splitlines()[0]
        columns = [
            f"{name} is {type_name(schema.get(name, UNKNOWN))}" for name in dict.fromkeys(expression.meta.root_names())
        ]
        hint = _hint(expression, [schema.get(name, UNKNOWN) for name in expression.meta.root_names()])
        raise PlanError(f"{first_line}, in {shown(expression)}: {', '.join(columns)}; {hint}") from None


def _hint(expression: pl.Expr, types: Sequence[pl.DataType]) -> str:
    if any(dtype.is_temporal() for dtype in types):
        return "write a day as date(2024, 2, 29) and a time as datetime(2024, 2, 29, 18, 30), both from datetime"
    if pl.Int128 in types and "negate()" in str(expression):
        return 'write 0 - pl.col("n")'
    return 'declare the column as another kind, or cast it, as in pl.col("n").cast(pl.Int64)'


def _no_rows(schema: Schema, expressions: Iterable[pl.Expr]) -> pl.DataFrame:
    names = dict.fromkeys(name for each in expressions for name in each.meta.root_names())
    return pl.DataFrame(schema={name: pl.Int64() if name == POSITION else schema[name] for name in names})


def _declared_type(schema: Schema, expression: pl.Expr) -> pl.DataType:
    """The type of an expression that holds a function in Python, without calling it."""
    if _reads_unknown(schema, expression):
        return UNKNOWN
    try:
        return next(iter(_no_rows(schema, [expression]).lazy().select(expression).collect_schema().values()))
    except pl.exceptions.PolarsError:
        return UNKNOWN


def shown(expression: pl.Expr) -> str:
    """An expression in one line."""
    text = " ".join(str(expression.meta.undo_aliases()).split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def type_name(dtype: pl.DataType) -> str:
    """A type in words."""
    return next((name for name, fits in _NAMES if fits(dtype)), str(dtype))


_NAMES: tuple[tuple[str, Callable[[pl.DataType], bool]], ...] = (
    ("text", lambda dtype: dtype == pl.String),
    ("an integer", lambda dtype: dtype.is_integer()),
    ("a decimal", lambda dtype: isinstance(dtype, pl.Decimal)),
    ("a float", lambda dtype: dtype.is_float()),
    ("a date", lambda dtype: dtype == pl.Date),
    ("a timestamp", lambda dtype: isinstance(dtype, pl.Datetime)),
    ("a boolean", lambda dtype: dtype == pl.Boolean),
    ("a list", lambda dtype: isinstance(dtype, pl.List)),
)
