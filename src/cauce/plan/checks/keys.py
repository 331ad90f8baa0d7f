"""Type checks of keys, conditions and orders, shared by the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cauce.errors import PlanError
from cauce.operators.aggregates.base import UNKNOWN
from cauce.operators.order import POSITION, Ratio, SortKey
from cauce.plan.schema import Schema, expression_types, shown, type_name


def check_keys(method: str, schema: Schema, keys: Sequence[str]) -> None:
    for key in keys:
        if isinstance(schema[key], pl.List):
            raise PlanError(f'{method}: {key} is a list, which is not allowed as a key; use explode("{key}") first')


def check_conditions(method: str, schema: Schema, conditions: Sequence[pl.Expr]) -> None:
    named = [each.alias(str(number)) for number, each in enumerate(conditions)]
    types = expression_types(schema, named)
    for number, each in enumerate(conditions):
        dtype = types[str(number)]
        if dtype not in (pl.Boolean, pl.Null, UNKNOWN):
            raise PlanError(
                f"{method} takes boolean conditions, but {shown(each)} is {type_name(dtype)}; "
                'write a comparison, such as pl.col("n") > 1'
            )


def check_order(schema: Schema, by: Sequence[SortKey]) -> None:
    for key in by:
        names = [name for name in key.columns if name != POSITION]
        for name in names:
            dtype = schema[name]
            exact = dtype == UNKNOWN or dtype.is_integer() or isinstance(dtype, pl.Decimal)
            if isinstance(key.what, Ratio) and not exact:
                raise PlanError(f"ratio takes integers and decimals, but {name} is {type_name(dtype)}")
