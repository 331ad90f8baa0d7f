"""Sort keys of the plan language for ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.operators.order import SortKey
from cauce.sql_frontend.tree import Column, SortItem


def sort_keys(order: Sequence[SortItem], then: Sequence[str]) -> list[SortKey]:
    """The sort keys of ORDER BY, then the given columns."""
    keys: list[SortKey] = []
    for item in order:
        assert isinstance(item.expr, Column)
        keys.append(SortKey(item.expr.name, item.descending, item.nulls_first))
    named = {key.what for key in keys}
    return keys + [SortKey(name) for name in then if name not in named]
