"""Infers the types of expressions without reading any file.

Polars infers the type of an expression on an empty frame. A Python function without a declared return type has the
type ``UNKNOWN``; nothing that depends on it is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.order import POSITION

Schema = Mapping[str, pl.DataType]

_TYPE_ERRORS = (
    pl.exceptions.SchemaError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.ComputeError,
    pl.exceptions.ColumnNotFoundError,
)


def roots(expressions: Iterable[pl.Expr]) -> frozenset[str]:
    """The columns that expressions read."""
    return frozenset(name for each in expressions for name in each.meta.root_names())


def element_type(dtype: pl.DataType) -> pl.DataType:
    """The type of the elements of a list."""
    return _instance(dtype.inner) if isinstance(dtype, pl.List) else UNKNOWN


def _instance(dtype: object) -> pl.DataType:
    made = dtype() if isinstance(dtype, type) else dtype
    assert isinstance(made, pl.DataType)
    return made


def common_type(first: pl.DataType, second: pl.DataType) -> pl.DataType:
    """The type of two concatenated columns; the wider one for integers. Raises TypeError if they differ otherwise."""
    if first == second or UNKNOWN in (first, second):
        return first if first == second else UNKNOWN
    if pl.Null in (first, second):
        return second if first == pl.Null else first
    if first.is_integer() and second.is_integer():
        frames = [pl.DataFrame(schema={"column": dtype}) for dtype in (first, second)]
        return pl.concat(frames, how="vertical_relaxed").schema["column"]
    raise TypeError(f"{type_name(first)} and {type_name(second)}")


def expression_types(schema: Schema, expressions: Sequence[pl.Expr]) -> dict[str, pl.DataType]:
    """The type of each expression by output name. Raises PlanError for a type error."""
    plain = {
        each.meta.output_name(): schema[name]
        for each in expressions
        if (name := _column(each)) is not None and name in schema
    }
    computed = [each for each in expressions if each.meta.output_name() not in plain]
    known = [each for each in computed if not _has_function(each) and not _reads_unknown(schema, each)]
    found = {**plain, **_types_on_no_rows(schema, known)}
    return {
        name: found[name] if name in found else _declared_type(schema, each)
        for each in expressions
        for name in [each.meta.output_name()]
    }


def _column(expression: pl.Expr) -> str | None:
    """The name of the column if the expression is one, also under another name."""
    bare = expression.meta.undo_aliases()
    return bare.meta.output_name() if bare.meta.is_column() else None


def _has_function(expression: pl.Expr) -> bool:
    return "python_udf" in str(expression)


def _reads_unknown(schema: Schema, expression: pl.Expr) -> bool:
    return any(schema.get(name) == UNKNOWN for name in expression.meta.root_names())


def _types_on_no_rows(schema: Schema, expressions: Sequence[pl.Expr]) -> dict[str, pl.DataType]:
    if not expressions:
        return {}
    frame = _no_rows(schema, expressions)
    try:
        return dict(frame.select(expressions).schema)
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
    """The type of an expression that contains a Python function, without calling it."""
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


def in_short(expression: pl.Expr) -> str:
    """An expression in one line, or the columns it reads if it is long."""
    text = " ".join(str(expression).split())
    return text if len(text) <= 90 else f"on {', '.join(dict.fromkeys(expression.meta.root_names()))}"


def type_name(dtype: pl.DataType) -> str:
    """A type as error messages name it."""
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
