"""Functions on lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cauce.sql_frontend.functions.kernel import Kernel
from cauce.sql_frontend.functions.table import Arguments, define, group
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, NULL, VARCHAR, SqlType, common, list_of

group("List")


def _element(types: Sequence[SqlType]) -> SqlType:
    kind = types[0].element
    return kind if kind is not None else VARCHAR


def _same(types: Sequence[SqlType]) -> SqlType:
    return types[0]


def _inner(args: Arguments) -> SqlType:
    kind = args.types[0].element
    assert kind is not None
    return kind


@dataclass(frozen=True)
class EachList(Kernel):
    """A function on each list and its other arguments; NULL if one of the first `needed` arguments is NULL."""

    function: str
    dtype: pl.DataType
    needed: int = 3

    def compute(self, *columns: pl.Series) -> pl.Series:
        apply = _FUNCTIONS[self.function]
        made = []
        for row in zip(*(each.to_list() for each in columns), strict=True):
            made.append(None if any(each is None for each in row[: self.needed]) else apply(*row))
        return pl.Series(made, dtype=self.dtype)


def _extract(values: list[object], index: int) -> object:
    place = index - 1 if index > 0 else len(values) + index
    return values[place] if index != 0 and 0 <= place < len(values) else None


def _slice(values: list[Any], low: int, high: int) -> list[Any]:
    start = low - 1 if low > 0 else max(len(values) + low, 0) if low < 0 else 0
    end = high if high >= 0 else len(values) + high + 1
    return values[start : max(end, 0)]


def _order(value: Any) -> tuple[bool, Any]:
    """NaN is larger than all other numbers."""
    return value != value, value


def _sorted(values: list[object], down: bool = False, nulls_first: bool = True) -> list[object]:
    present = sorted((each for each in values if each is not None), key=_order, reverse=down)
    nulls: list[object] = [None] * (len(values) - len(present))
    return nulls + present if nulls_first else present + nulls


def _joined(texts: list[str], separator: str, had_values: bool) -> str | None:
    return None if had_values and not texts else separator.join(texts)


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "extract": _extract,
    "slice": _slice,
    "sort": lambda values: _sorted(values, nulls_first=False),
    "reverse_sort": lambda values: _sorted(values, down=True, nulls_first=False),
    "reverse": lambda values: values[::-1],
    "distinct": lambda values: list(dict.fromkeys(each for each in values if each is not None)),
    "position": lambda values, wanted: values.index(wanted) + 1 if wanted in values else None,
    "has_any": lambda a, b: any(each in b for each in a if each is not None),
    "has_all": lambda a, b: all(each in a for each in b if each is not None),
    "join": lambda values, separator: _joined([each for each in values if each is not None], separator, bool(values)),
    "intersect": lambda a, b: list(dict.fromkeys(each for each in a if each is not None and each in b)),
    "min": lambda values: min((each for each in values if each is not None), key=_order, default=None),
    "max": lambda values: max((each for each in values if each is not None), key=_order, default=None),
    "any_value": lambda values: next((each for each in values if each is not None), None),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
}


def _each(name: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(EachList(args.where, name, args.type.dtype))


def _wide(held: SqlType, value: SqlType) -> SqlType:
    """The list that holds the elements of a list and a value."""
    inner = held.element
    kind = common(inner, value) if inner is not None else None
    return list_of(kind) if kind is not None else held


def _with_element(args: Arguments, held: int = 0, value: int = 1) -> tuple[pl.Expr, pl.Expr]:
    """A list and a value, both of a type that holds them exactly."""
    inner = args.types[held].element
    if inner is None or common(inner, args.types[value]) is None:
        raise StatementError(f"a list of {inner} cannot contain {args.types[value]}; add a CAST", args.at)
    wide = _wide(args.types[held], args.types[value])
    assert wide.element is not None
    return args[held].cast(wide.dtype), args[value].cast(wide.element.dtype)


def _contains(args: Arguments) -> pl.Expr:
    values, wanted = _with_element(args)
    return pl.when(values.is_not_null() & wanted.is_not_null()).then(values.list.contains(wanted))


def _position(args: Arguments) -> pl.Expr:
    return args.run(EachList(args.where, "position", args.type.dtype, needed=1), *_with_element(args))


def _both_lists(name: str) -> Callable[[Arguments], pl.Expr]:
    def build(args: Arguments) -> pl.Expr:
        if any(kind.element is None and kind != NULL for kind in args.types):
            raise StatementError(f"list_{name} needs lists", args.at)
        return _each(name)(args)

    return build


def _sum_type(types: Sequence[SqlType]) -> SqlType:
    kind = types[0].element
    return DOUBLE if kind is not None and kind.is_float else HUGEINT


def _list_sum(args: Arguments) -> pl.Expr:
    if not _inner(args).is_integer and not _inner(args).is_float:
        raise StatementError(f"list_sum needs a list of integers or floats, not {_inner(args)}", args.at)
    values = args[0].list.drop_nulls()
    total = values.cast(pl.List(args.type.dtype)).list.sum()
    return pl.when(values.list.len() > 0).then(total)


def _list_avg(args: Arguments) -> pl.Expr:
    if not _inner(args).is_number:
        raise StatementError(f"list_avg needs a list of numbers, not {_inner(args)}", args.at)
    return args[0].cast(pl.List(pl.Float64)).list.mean()


def _to_text(args: Arguments) -> pl.Expr:
    if _inner(args) != VARCHAR:
        raise StatementError("array_to_string needs a list of texts", args.at)
    return args.run(EachList(args.where, "join", pl.String()), args[0], args[1])


@dataclass(frozen=True)
class Range(Kernel):
    """Integers from a start up to an end, which is left out unless `inclusive`."""

    inclusive: bool

    def compute(self, *columns: pl.Series) -> pl.Series:
        made: list[list[int] | None] = []
        for row in zip(*columns, strict=True):
            if any(each is None for each in row):
                made.append(None)
                continue
            start, end, step = (0, row[0], 1) if len(row) == 1 else (row[0], row[1], row[2] if len(row) > 2 else 1)
            stop = end + (1 if step > 0 else -1) * self.inclusive
            made.append(list(range(start, stop, step)) if step else [])
        return pl.Series(made, dtype=pl.List(pl.Int64))


define(
    "list_extract",
    "LIST BIGINT",
    _element,
    _each("extract"),
    "The n-th element, from 1; negative from the end. Also l[n].",
    "list_extract([10, 20, 30], 2)",
    aliases=("list_element", "array_extract"),
)
define(
    "list_extract",
    "VARCHAR BIGINT",
    VARCHAR,
    lambda args: args.run(_CharacterAt(args.where)),
    "The n-th character. Also s[n].",
    "array_extract('abc', 2)",
    aliases=("array_extract",),
)
define(
    "list_slice",
    "LIST BIGINT BIGINT",
    _same,
    _each("slice"),
    "The elements from one position to another. Also l[a:b].",
    "list_slice([1, 2, 3, 4], 2, 3)",
    aliases=("array_slice",),
)
define(
    "list_slice",
    "VARCHAR BIGINT BIGINT",
    VARCHAR,
    lambda args: args.run(_Characters(args.where)),
    "The characters from one position to another. Also s[a:b].",
    "array_slice('hello', 2, 3)",
    aliases=("array_slice",),
)
define(
    "len",
    "LIST",
    BIGINT,
    lambda args: args[0].list.len().cast(pl.Int64),
    "The number of elements.",
    "len([1, 2, NULL])",
    aliases=("array_length", "length"),
)
define(
    "len",
    "VARCHAR",
    BIGINT,
    lambda args: args[0].str.len_chars().cast(pl.Int64),
    "The number of characters.",
    "len('año')",
)
define(
    "list_contains",
    "LIST ANY",
    BOOLEAN,
    _contains,
    "Whether a list has an element.",
    "list_contains([1, 2], 2)",
    aliases=("array_contains", "list_has", "array_has", "contains"),
)
define(
    "list_position",
    "LIST ANY",
    INTEGER,
    _position,
    "The position of an element, from 1; NULL if it is not there.",
    "list_position([1, 2], 2)",
    aliases=("array_position", "list_indexof", "array_indexof"),
)
define(
    "list_sort",
    "LIST",
    _same,
    _each("sort"),
    "In ascending order, NULLs last.",
    "list_sort([3, 1, 2])",
    aliases=("array_sort",),
)
define(
    "list_reverse_sort",
    "LIST",
    _same,
    _each("reverse_sort"),
    "In descending order, NULLs last.",
    "list_reverse_sort([3, 1, 2])",
    aliases=("array_reverse_sort",),
)
define(
    "list_reverse",
    "LIST",
    _same,
    _each("reverse"),
    "In reverse order.",
    "list_reverse([1, 2, 3])",
    aliases=("array_reverse",),
)
define(
    "list_concat",
    "SAME SAME",
    _same,
    lambda args: _concat(args),
    "Two lists as one; also a || b.",
    "list_concat([1], [2, 3])",
    aliases=("list_cat", "array_concat", "array_cat"),
)
define(
    "list_append",
    "LIST ANY",
    lambda types: _wide(types[0], types[1]),
    lambda args: _append_to(args),
    "With an element at the end.",
    "list_append([1, 2], 3)",
    aliases=("array_append", "array_push_back"),
)
define(
    "list_prepend",
    "ANY LIST",
    lambda types: _wide(types[1], types[0]),
    lambda args: _prepend_to(args),
    "With an element at the start.",
    "list_prepend(0, [1, 2])",
    aliases=("array_prepend",),
)
define("list_sum", "LIST", _sum_type, _list_sum, "The sum of the elements.", "list_sum([1, 2, NULL])")
define("list_avg", "LIST", DOUBLE, _list_avg, "The mean of the elements.", "list_avg([1, 2, NULL])")
define("list_min", "LIST", _element, _each("min"), "The smallest element.", "list_min([3, 1, 2])")
define("list_max", "LIST", _element, _each("max"), "The largest element.", "list_max([3, 1, 2])")
define("list_first", "LIST", _element, _each("first"), "The first element.", "list_first([3, 1, 2])")
define("list_last", "LIST", _element, _each("last"), "The last element.", "list_last([3, 1, 2])")
define(
    "list_any_value",
    "LIST",
    _element,
    _each("any_value"),
    "The first element that is not NULL.",
    "list_any_value([NULL, 1])",
)
define(
    "list_count",
    "LIST",
    BIGINT,
    lambda args: args[0].list.drop_nulls().list.len().cast(pl.Int64),
    "The number of elements that are not NULL.",
    "list_count([1, NULL])",
)
define(
    "list_has_any",
    "SAME SAME",
    BOOLEAN,
    _both_lists("has_any"),
    "Whether two lists share an element.",
    "list_has_any([1, 2], [2, 3])",
    aliases=("array_has_any",),
)
define(
    "list_has_all",
    "SAME SAME",
    BOOLEAN,
    _both_lists("has_all"),
    "Whether a list has all elements of another.",
    "list_has_all([1, 2], [2])",
    aliases=("array_has_all",),
)
define(
    "array_to_string",
    "LIST VARCHAR",
    VARCHAR,
    _to_text,
    "The texts of a list, joined by a separator.",
    "array_to_string(['a', 'b'], '-')",
    aliases=("list_aggr_join",),
)
define(
    "range",
    "BIGINT",
    list_of(BIGINT),
    lambda args: args.run(Range(args.where, False)),
    "The integers from 0 below a number.",
    "range(3)",
)
define(
    "range",
    "BIGINT BIGINT BIGINT?",
    list_of(BIGINT),
    lambda args: args.run(Range(args.where, False)),
    "The integers from one number below another.",
    "range(2, 8, 3)",
)
define(
    "generate_series",
    "BIGINT BIGINT BIGINT?",
    list_of(BIGINT),
    lambda args: args.run(Range(args.where, True)),
    "The integers from one number up to another.",
    "generate_series(2, 4)",
)


@dataclass(frozen=True)
class _CharacterAt(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        rows = zip(*columns, strict=True)
        made = [None if text is None or n is None else (_extract(list(text), n) or "") for text, n in rows]
        return pl.Series(made, dtype=pl.String)


@dataclass(frozen=True)
class _Characters(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        rows = zip(*columns, strict=True)
        made = [None if any(each is None for each in row) else "".join(_slice(list(row[0]), *row[1:])) for row in rows]
        return pl.Series(made, dtype=pl.String)


@dataclass(frozen=True)
class Concat(Kernel):
    """Lists in a row; NULL counts as an empty list."""

    dtype: pl.DataType

    def compute(self, *columns: pl.Series) -> pl.Series:
        made = [
            None if all(part is None for part in row) else [x for part in row if part is not None for x in part]
            for row in zip(*(each.to_list() for each in columns), strict=True)
        ]
        return pl.Series(made, dtype=self.dtype)


def _concat(args: Arguments) -> pl.Expr:
    if args.types[0].element is None:
        raise StatementError("list_concat needs lists", args.at)
    return args.run(Concat(args.where, args.type.dtype))


@dataclass(frozen=True)
class Append(Kernel):
    dtype: pl.DataType
    first: bool

    def compute(self, *columns: pl.Series) -> pl.Series:
        rows = zip(*(each.to_list() for each in columns), strict=True)
        made = [[x, *(values or [])] if self.first else [*(values or []), x] for values, x in rows]
        return pl.Series(made, dtype=self.dtype)


def _append_to(args: Arguments) -> pl.Expr:
    return args.run(Append(args.where, args.type.dtype, False), *_with_element(args))


def _prepend_to(args: Arguments) -> pl.Expr:
    return args.run(Append(args.where, args.type.dtype, True), *_with_element(args, 1, 0))
