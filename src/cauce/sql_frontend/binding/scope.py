"""The names that an expression may use: columns of the sources in FROM, output names, and enclosing queries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from cauce.errors import did_you_mean
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Column, Expr, OuterColumn
from cauce.sql_frontend.types import SqlType


def written(name: str) -> str:
    """A name as a statement writes it."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f'"{name}"'


class Names:
    """Gives out column names that are unique in a statement, and equal for equal statements."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, base: str) -> str:
        # Plans name their own columns with these characters.
        base = base.replace("#", "_").replace(":", "_") or "column"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}~{number}"
        self._taken.add(name)
        return name


@dataclass(frozen=True)
class Visible:
    """A column that can be named: the name as written in the schema, its unique name, its type."""

    name: str
    unique: str
    type: SqlType
    at: int = 0
    """Where a query computes it."""


@dataclass(frozen=True)
class Source:
    alias: str
    columns: tuple[Visible, ...]


@dataclass
class Scope:
    sources: list[Source] = field(default_factory=list)
    parent: Scope | None = None
    merged: dict[str, Expr] = field(default_factory=dict)
    """Columns of USING and NATURAL joins: one value for both sides."""
    hidden: set[str] = field(default_factory=set)
    """Unique names that a merged column replaces in a star."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """Output names of the SELECT, which other clauses may use."""

    def candidates(self, name: str, table: str | None) -> list[Visible]:
        wanted = name.lower()
        return [
            column
            for source in self.sources
            if table is None or source.alias.lower() == table.lower()
            for column in source.columns
            if column.name.lower() == wanted
        ]

    def find(self, name: str, table: str | None, at: int) -> Expr | None:
        """The column of this query with that name; None if there is none."""
        if table is None and name.lower() in self.merged:
            return self.merged[name.lower()]
        found = self.candidates(name, table)
        if len(found) > 1:
            places = " and ".join(self._homes(name))
            raise StatementError(f"column {name} is ambiguous: it is in {places}; write the table before it", at)
        return Column(found[0].type, found[0].unique, at=at) if found else None

    def _homes(self, name: str) -> list[str]:
        return [s.alias for s in self.sources if any(c.name.lower() == name.lower() for c in s.columns)]

    def resolve(self, name: str, table: str | None, at: int) -> Expr | None:
        """As `find`, also in enclosing queries."""
        depth, scope = 0, self
        while True:
            found = scope.find(name, table, at)
            if found is not None:
                if depth == 0:
                    return found
                if not isinstance(found, Column):
                    raise StatementError(
                        f"column {name} of a full join cannot be used in a subquery; name one side", at
                    )
                return OuterColumn(found.type, found.name, depth, at=at)
            if scope.parent is None:
                return None
            depth, scope = depth + 1, scope.parent

    def unknown(self, name: str, table: str | None, at: int, *, quoted: bool) -> None:
        """Raises the error for a column that does not exist. `quoted` names may be meant as texts."""
        if table is not None and not any(table.lower() == alias.lower() for alias in self._all_aliases()):
            hint = did_you_mean(table, self._all_aliases())
            raise StatementError(f"there is no table {table} in this query{hint}", at)
        known = [
            written(column.name)
            for source in self._all_sources()
            if table is None or source.alias.lower() == table.lower()
            for column in source.columns
        ]
        shown = f"; there are {', '.join(dict.fromkeys(known))}" if 0 < len(known) <= 20 else ""
        text = f"; a text is written in single quotes, as in '{name}'" if quoted else ""
        raise StatementError(f"there is no column {name}{did_you_mean(name, known) or text or shown}", at)

    def _all_sources(self) -> Iterable[Source]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.sources
            scope = scope.parent

    def _all_aliases(self) -> list[str]:
        return [source.alias for source in self._all_sources()]
