"""The tables that statements name, before their columns are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from cauce.sql_frontend.parse import parse
from cauce.sql_frontend.syntax_tree import nodes_of


def tables_named(text: str) -> tuple[str, ...]:
    """Names and paths after FROM and JOIN, in order of appearance, also those of common table expressions: a statement
    may give one the name of a table that it reads. Raises SqlError for a text that is not valid."""
    found = (each.this for each in _nodes(text) if isinstance(each, exp.Table))
    return tuple(dict.fromkeys(each.name for each in found if isinstance(each, exp.Identifier)))


def may_use(text: str) -> Callable[[str], bool]:
    """Whether the statements may use a column: they name it, or have a star other than that of count(*)."""
    nodes = list(_nodes(text))
    stars = (each for each in nodes if isinstance(each, exp.Star))
    if not all(isinstance(star.parent, exp.Anonymous) and star.parent.name.lower() == "count" for star in stars):
        return lambda _: True
    names = {each.name.lower() for each in nodes if isinstance(each, exp.Identifier)}
    return lambda name: name.lower() in names


def ctes_named(text: str) -> tuple[str, ...]:
    """The names that WITH gives to queries."""
    return tuple(dict.fromkeys(each.alias for each in _nodes(text) if isinstance(each, exp.CTE)))


def parameters_named(text: str) -> tuple[str, ...]:
    """The names of the parameters that statements use, such as year for `$year`."""
    found = (each for each in _nodes(text) if isinstance(each, exp.Placeholder))
    return tuple(dict.fromkeys(each.name for each in found if each.name))


def _nodes(text: str) -> Iterator[exp.Expr]:
    for statement in parse(text).statements:
        yield from nodes_of(statement.tree)
