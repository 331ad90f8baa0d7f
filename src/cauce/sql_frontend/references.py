"""The tables that statements name, before their columns are known."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cauce.sql_frontend.parse import parse


def tables_named(text: str) -> tuple[str, ...]:
    """Names and paths after FROM and JOIN, in order of appearance, also those of common table expressions: a statement
    may give one the name of a table that it reads. Raises SqlError for a text that is not valid."""
    found = (table.this for statement in parse(text).statements for table in statement.tree.find_all(exp.Table))
    return tuple(dict.fromkeys(each.name for each in found if isinstance(each, exp.Identifier)))


def may_use(text: str) -> Callable[[str], bool]:
    """Whether the statements may use a column: they name it, or have a star other than that of count(*)."""
    trees = [statement.tree for statement in parse(text).statements]
    stars = (star for tree in trees for star in tree.find_all(exp.Star))
    if not all(isinstance(star.parent, exp.Anonymous) and star.parent.name.lower() == "count" for star in stars):
        return lambda _: True
    names = {each.name.lower() for tree in trees for each in tree.find_all(exp.Identifier)}
    return lambda name: name.lower() in names


def ctes_named(text: str) -> tuple[str, ...]:
    """The names that WITH gives to queries."""
    found = (cte for statement in parse(text).statements for cte in statement.tree.find_all(exp.CTE))
    return tuple(dict.fromkeys(each.alias for each in found))


def parameters_named(text: str) -> tuple[str, ...]:
    """The names of the parameters that statements use, such as year for `$year`."""
    found = (each for statement in parse(text).statements for each in statement.tree.find_all(exp.Placeholder))
    return tuple(dict.fromkeys(each.name for each in found if each.name))
