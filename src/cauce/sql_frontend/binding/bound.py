"""The result of binding a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cauce.sql_frontend.binding.scope import Visible
from cauce.sql_frontend.tree import SortItem, Step


@dataclass(frozen=True)
class BoundQuery:
    """The rows of a query, its output columns in order, and the order of its rows (advisory without LIMIT)."""

    step: Step
    outputs: tuple[Visible, ...]
    order: tuple[SortItem, ...] = ()


Ctes = Mapping[str, BoundQuery]
