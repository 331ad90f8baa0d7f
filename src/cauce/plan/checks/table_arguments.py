"""Validates the arguments of a table: name, files, columns and format options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from cauce.errors import PlanError
from cauce.plan.checks.arguments import instance, shown_value, text, whole_number
from cauce.scan.cells.kinds import FieldList, Fixed, Kind
from cauce.scan.tables import Column

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")
_MOST_PLACES = 18


def check_name(what: str, name: object) -> None:
    """Restricts names to characters that every fabric and file system allows in log and file names."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PlanError(f"{what} {name!r}: a name may have at most 60 characters: letters, digits, _ and -")


def patterns_of(table: str, files: object) -> tuple[str, ...]:
    given = (files,) if isinstance(files, str) else files
    if not isinstance(given, Sequence) or not given:
        raise PlanError(f'table {table}: files must be a pattern such as "orders_*.csv", not {shown_value(files)}')
    for each in given:
        text(f"table {table}: a pattern of files", each, "orders_*.csv")
    return tuple(given)


def check_columns(table: str, columns: object) -> None:
    if not isinstance(columns, Mapping) or not columns:
        example = '{"order_id": Identifier(), "paid": Decimal()}'
        raise PlanError(f"table {table}: columns must be names with kinds, such as {example}")
    for name, column in columns.items():
        text(f"table {table}: the name of a column", name, "paid")
        _check_kind(f"table {table}, column {name}", column.kind if isinstance(column, Column) else column)
        if isinstance(column, Column):
            text(f"table {table}, column {name}: the header", column.header, "Order ID")
            instance(f"table {table}, column {name}: again", column.again, bool, "True or False")
            _check_nulls(f"table {table}, column {name}: nulls", column.nulls)


def _check_nulls(what: str, nulls: object) -> None:
    if isinstance(nulls, str) or not isinstance(nulls, Collection) or not all(isinstance(each, str) for each in nulls):
        raise PlanError(f'{what} must be texts that mark an empty cell, such as ("NA", "-"), not {shown_value(nulls)}')


def _check_kind(what: str, kind: object) -> None:
    if isinstance(kind, type) and issubclass(kind, Kind):
        raise PlanError(f"{what}: write {kind.__name__}(), with parentheses")
    instance(what, kind, Kind, "a kind such as Text() or Integer()")
    if isinstance(kind, Fixed):
        whole_number(f"{what}: the decimals of Fixed", kind.places, 0, _MOST_PLACES)
    if isinstance(kind, FieldList):
        text(f"{what}: the field of FieldList", kind.field, "name")


def check_reading(table: str, delimiter: object, null: object, small: object) -> None:
    allowed = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'
    if not allowed:
        hint = "one ASCII character other than a quote or a line end"
        raise PlanError(f"table {table}: delimiter must be {hint}, not {shown_value(delimiter)}")
    if null is not None and (not isinstance(null, str) or not null):
        raise PlanError(f"table {table}: null must be the text that marks an empty cell, not {shown_value(null)}")
    instance(f"table {table}: small", small, bool, "True or False")
