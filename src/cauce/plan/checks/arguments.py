"""Argument checks for the dataset API. Each error is one sentence that says what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import polars as pl

from cauce.errors import PlanError, did_you_mean

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

CALLS = {
    ("sort", "descending"): 'write sort(desc("n"))',
    ("sort", "reverse"): 'write sort(desc("n"))',
    ("sort", "by"): 'write sort("n")',
    ("top_k", "descending"): 'write top_k(10, by=desc("n"))',
    ("top_k", "n"): 'write top_k(10, by="n")',
    ("top_k", "over"): 'write per="key"',
    ("top_k", ""): 'write top_k(10, by=desc("n"))',
    ("join", "left_on"): 'rename one side with select(...) and write on="key"',
    ("join", "right_on"): 'rename one side with select(...) and write on="key"',
    ("join", "suffix"): "rename one side with select(...)",
    ("join", ""): 'write join(other, on="key")',
    ("agg", ""): "name each aggregate: agg(n=agg.count())",
    ("with_columns", ""): 'name each column: with_columns(double=pl.col("n") * 2)',
    ("group_by", "maintain_order"): "groups have no order; sort the answer",
    ("in_input_order", ""): "in_input_order() takes no argument",
    ("filter", "*"): 'write a condition, such as filter(pl.col("n") == 1)',
    ("Table", "separator"): 'write delimiter=";"',
    ("Table", "sep"): 'write delimiter=";"',
    ("Table", "null_values"): 'write null="NA"',
    ("query", ""): "name the columns of the answer: @dataset.query(title=TEXT, n=INTEGER)",
}
"""Hints for unknown arguments, by function and argument name; "*" matches any name, "" a positional argument."""


def listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))


def shown_value(value: object) -> str:
    text = value.__name__ if isinstance(value, type | FunctionType) else str(value)
    text = repr(value) if isinstance(value, str) else " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def checked(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Wraps a function so that wrong arguments raise PlanError instead of TypeError."""
    signature = inspect.signature(function)
    name = function.__qualname__.split(".")[0] if function.__name__ == "__init__" else function.__name__

    @wraps(function)
    def call(*args: Parameters.args, **named: Parameters.kwargs) -> Returned:
        try:
            signature.bind(*args, **named)
        except TypeError as problem:
            raise PlanError(_wrong_call(name, signature, named, str(problem))) from None
        return function(*args, **named)

    return call


def _wrong_call(name: str, signature: inspect.Signature, named: dict[str, Any], problem: str) -> str:
    taken = [each for each in signature.parameters if each != "self"]
    unknown = [each for each in named if each not in taken]
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())
    if unknown and not open_ended:
        known = CALLS.get((name, unknown[0])) or CALLS.get((name, "*"))
        hint = f"; {known}" if known else did_you_mean(unknown[0], taken) or f"; it takes {listed(taken)}"
        return f"{name}() has no argument {unknown[0]}{hint}"
    hint = f"; {CALLS[name, '']}" if (name, "") in CALLS else f"; it takes {listed(taken)}"
    return f"{name}(): {problem}{hint}"


def one_of(what: str, value: object, choices: Sequence[str], note: str = "") -> None:
    if value not in choices:
        hint = note or did_you_mean(value, choices)
        raise PlanError(f"unknown {what} {shown_value(value)}; expected one of {listed(choices)}{hint}")


def whole_number(what: str, value: object, least: int, most: int | None = None) -> None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most)
    if not fits:
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise PlanError(f"{what} must be a whole number {bounds}, not {shown_value(value)}")


def instance(what: str, value: object, kind: type | tuple[type, ...], example: str) -> None:
    """Raises PlanError unless `value` is of this type; `example` says what to write."""
    if not isinstance(value, kind):
        raise PlanError(f"{what} must be {example}, not {shown_value(value)}")


def text(what: str, value: object, example: str = "") -> None:
    if not isinstance(value, str) or not value:
        hint = f', such as "{example}"' if example else ""
        raise PlanError(f"{what} must be a text{hint}, not {shown_value(value)}")


def column_name(what: str, value: object) -> None:
    """Raises PlanError unless `value` is a column name; `what` is the called function."""
    if isinstance(value, str):
        return
    if isinstance(value, pl.Expr):
        roots = value.meta.root_names()
        plain = roots and value.meta.is_column()
        hint = f'write "{roots[0]}"' if plain else "compute it with with_columns(name=...) before and give its name"
        raise PlanError(f"{what} takes the name of a column, not an expression; {hint}")
    if isinstance(value, Collection):
        names = ", ".join(f'"{each}"' for each in value)
        raise PlanError(f"{what} takes names of columns one by one, not {type(value).__name__}; write {names}")
    raise PlanError(f"{what} takes the name of a column, not {shown_value(value)}")
