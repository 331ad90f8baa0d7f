"""Random tables with NULLs and ties, and random queries of the supported grammar over them. Equal for equal seeds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.sql_frontend.random_expressions import OPERANDS, PLAIN, TYPES, VALUES, literal


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass
class Database:
    """Tables with their columns and rows. The planner counts each row as `row_weight` rows."""

    schema: dict[str, dict[str, str]]
    rows: dict[str, list[list[Any]]]
    row_weight: int = 1


def random_database(choose: random.Random) -> Database:
    schema: dict[str, dict[str, str]] = {}
    rows: dict[str, list[list[Any]]] = {}
    for number in range(choose.randint(2, 3)):
        kinds = [choose.choice(TYPES) for _ in range(choose.randint(1, 4))]
        columns = {"k": "BIGINT", **{f"{'abcd'[i]}{number}": kind for i, kind in enumerate(kinds)}}
        name = f"t{number}"
        schema[name] = columns
        rows[name] = [
            [_value(choose, kind) for kind in columns.values()] for _ in range(choose.choice([0, 1, 3, 6, 12]))
        ]
    return Database(schema, rows)


def _value(choose: random.Random, kind: str) -> Any:
    return None if choose.random() < 0.2 else choose.choice(VALUES[kind])


@dataclass
class Queries:
    """Generates queries over a database."""

    choose: random.Random
    database: Database
    _aliases: int = 0
    _subqueries_allowed: bool = False
    """Only in the select list: DuckDB takes them in other places, with its own limits."""
    _scopes: list[list[Column]] = field(default_factory=list)

    def query(self) -> str:
        roll = self.choose.random()
        if roll < 0.12:
            return self._set_operation()
        if roll < 0.17:
            return self._distinct_on()
        if roll < 0.25:
            name = self._alias()
            inner, columns = self._select(2)
            return f"WITH {name} AS ({inner}) {self._over(name, columns)}"
        return self._select(2)[0]

    def _alias(self) -> str:
        self._aliases += 1
        return f"x{self._aliases}"

    def _over(self, name: str, columns: list[Column]) -> str:
        alias = self._alias()
        scope = [Column(f"{alias}.{each.name}", each.type) for each in columns]
        chosen = self.choose.sample(scope, self.choose.randint(1, len(scope)))
        where = f" WHERE {self._condition(scope, 1)}" if self.choose.random() < 0.5 else ""
        return f"SELECT {', '.join(each.name for each in chosen)} FROM {name} {alias}{where}"

    def _distinct_on(self) -> str:
        """The order by all columns decides which row is first."""
        name = self.choose.choice(list(self.database.schema))
        columns = list(self.database.schema[name])
        key = self.choose.choice(columns)
        order = ", ".join([key, *(each for each in columns if each != key)])
        return f"SELECT DISTINCT ON ({key}) {', '.join(columns)} FROM {name} ORDER BY {order}"

    def _scalar(self, kind: str, scope: list[Column]) -> str:
        """A correlated scalar subquery of this type."""
        source, inner = self._table(0)
        outer = self.choose.choice(scope)
        same = [each.name for each in inner if each.type == outer.type and outer.type != "DOUBLE"]
        values = [each.name for each in inner if each.type == kind]
        if not values:
            return literal(self.choose.choice(VALUES[kind]))
        value = f"{self.choose.choice(['min', 'max'])}({self.choose.choice(values)})"
        where = f" WHERE {self.choose.choice(same)} = {outer.name}" if same else ""
        extra = f" AND {self._condition(inner, 0)}" if same and self.choose.random() < 0.3 else ""
        return f"(SELECT {value} FROM {source}{where}{extra})"

    def _set_operation(self) -> str:
        kinds = [self.choose.choice(TYPES) for _ in range(self.choose.randint(1, 2))]
        word = self.choose.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        return f"{self._typed(kinds)} {word} {self._typed(kinds)}"

    def _typed(self, kinds: list[str]) -> str:
        source, scope = self._source(1)
        items = ", ".join(f"{self._expr(kind, scope, 1)} AS c{i}" for i, kind in enumerate(kinds))
        where = f" WHERE {self._condition(scope, 1)}" if self.choose.random() < 0.4 else ""
        return f"SELECT {items} FROM {source}{where}"

    # SELECT.

    def _select(self, depth: int) -> tuple[str, list[Column]]:
        source, scope = self._source(depth)
        if self.choose.random() < 0.4:
            return self._grouped(source, scope, depth)
        columns: list[Column] = []
        items: list[str] = []
        for number in range(self.choose.randint(1, 3)):
            kind = self.choose.choice(TYPES)
            columns.append(Column(f"c{number}", kind))
            self._subqueries_allowed = True
            items.append(f"{self._expr(kind, scope, depth)} AS c{number}")
            self._subqueries_allowed = False
        if self.choose.random() < 0.2:
            kind, text = self._window(scope)
            columns.append(Column(f"c{len(items)}", kind))
            items.append(f"{text} AS c{len(items)}")
        where = f" WHERE {self._condition(scope, depth)}" if self.choose.random() < 0.6 else ""
        distinct = "DISTINCT " if self.choose.random() < 0.15 else ""
        qualify = f" QUALIFY {self._qualify(scope)}" if self.choose.random() < 0.05 else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {source}{where}{qualify}{self._limit(len(items))}", columns

    def _qualify(self, scope: list[Column]) -> str:
        known = [each.name for each in scope if each.type in TYPES and each.type != "DOUBLE"]
        key = self.choose.choice(known) if known else "1"
        partition = f"PARTITION BY {self.choose.choice(known)} " if known and self.choose.random() < 0.5 else ""
        return f"rank() OVER ({partition}ORDER BY {key}) {self.choose.choice(['= 1', '<= 2', '> 1'])}"

    def _limit(self, count: int) -> str:
        """The order by all columns decides which rows are first, up to equal rows."""
        if self.choose.random() > 0.15:
            return ""
        order = ", ".join(
            f"{i + 1}{self.choose.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS FIRST'])}" for i in range(count)
        )
        offset = f" OFFSET {self.choose.randint(0, 3)}" if self.choose.random() < 0.3 else ""
        return f" ORDER BY {order} LIMIT {self.choose.randint(0, 5)}{offset}"

    def _grouped(self, source: str, scope: list[Column], depth: int) -> tuple[str, list[Column]]:
        keys = [self._expr(self.choose.choice(TYPES), scope, 0) for _ in range(self.choose.randint(0, 2))]
        keys = [key for key in keys if "x" in key]
        columns = [Column(f"c{i}", "ANY") for i in range(len(keys))]
        items = [f"{key} AS c{i}" for i, key in enumerate(keys)]
        for number in range(len(keys), len(keys) + self.choose.randint(1, 3)):
            text, kind = self._aggregate(scope)
            items.append(f"{text} AS c{number}")
            columns.append(Column(f"c{number}", kind))
        where = f" WHERE {self._condition(scope, depth)}" if self.choose.random() < 0.4 else ""
        group = f" GROUP BY {self._grouping(keys)}" if keys else ""
        having = ""
        if keys and self.choose.random() < 0.3:
            having = f" HAVING count(*) {self.choose.choice(['>', '<=', '='])} {self.choose.randint(0, 3)}"
        known = [each for each in columns if each.type in TYPES]
        text = f"SELECT {', '.join(items)} FROM {source}{where}{group}{having}"
        return text, known or [Column(f"c{len(keys)}", "ANY")]

    def _grouping(self, keys: list[str]) -> str:
        listed = ", ".join(keys)
        roll = self.choose.random()
        if roll < 0.1:
            return f"ROLLUP ({listed})"
        if roll < 0.15:
            return f"CUBE ({listed})"
        return f"GROUPING SETS (({listed}), ({keys[0]}), ())" if roll < 0.2 else listed

    def _aggregate(self, scope: list[Column]) -> tuple[str, str]:
        if self.choose.random() < 0.2:
            return "count(*)", "BIGINT"
        kind = self.choose.choice(TYPES)
        value = self._expr(kind, scope, 0)
        names = ["count", "min", "max"]
        if kind in ("BIGINT", "DECIMAL(18,2)", "DOUBLE"):
            names += ["sum", "avg", "sum", "median", "stddev_pop", "var_samp"]
        if kind == "BOOLEAN":
            names += ["bool_and", "bool_or", "count_if"]
        if self.choose.random() < 0.15:
            return self._ordered_aggregate(scope)
        name = self.choose.choice(names)
        distinct = "DISTINCT " if self.choose.random() < 0.2 else ""
        filtered = f" FILTER (WHERE {self._condition(scope, 0)})" if self.choose.random() < 0.2 else ""
        results = {"count": "BIGINT", "min": kind, "max": kind, "avg": "DOUBLE", "bool_and": kind, "bool_or": kind}
        if name in ("median", "stddev_pop", "var_samp"):
            value = f"CAST({value} AS DOUBLE)"
        return f"{name}({distinct}{value}){filtered}", results.get(name, "ANY")

    def _ordered_aggregate(self, scope: list[Column]) -> tuple[str, str]:
        """An aggregate whose value depends on an order, which decides up to equal values."""
        text, number = self._expr("VARCHAR", scope, 0), self._expr("BIGINT", scope, 0)
        down = self.choose.choice(["", " DESC", " NULLS FIRST"])
        return self.choose.choice(
            [
                (f"string_agg({text}, '|' ORDER BY {text}{down})", "VARCHAR"),
                (f"first({number} ORDER BY {number}{down})", "BIGINT"),
                (f"array_to_string(list({text} ORDER BY {text}{down}), '+')", "VARCHAR"),
                (f"quantile_disc({number}, 0.5)", "BIGINT"),
                (f"arg_max({number}, {number})", "BIGINT"),
                (f"covar_pop({number}, {number})", "DOUBLE"),
                (f"approx_count_distinct({number}) >= 0", "BOOLEAN"),
            ]
        )

    def _window(self, scope: list[Column]) -> tuple[str, str]:
        """A window function whose value does not depend on the order of ties."""
        known = [each for each in scope if each.type in TYPES and each.type != "DOUBLE"]
        partition = f"PARTITION BY {self.choose.choice(known).name} " if known and self.choose.random() < 0.6 else ""
        key = self.choose.choice(known).name if known else "1"
        order = f"ORDER BY {key}{self.choose.choice(['', ' DESC', ' NULLS FIRST'])}"
        numbers = [each.name for each in scope if each.type in ("BIGINT", "DECIMAL(18,2)")]
        roll = self.choose.random()
        if roll < 0.4 or not numbers:
            name = self.choose.choice(["rank", "dense_rank", "percent_rank", "cume_dist"])
            kind = "BIGINT" if name.endswith("k") and name != "percent_rank" else "DOUBLE"
            return kind, f"{name}() OVER ({partition}{order})"
        value = self.choose.choice(numbers)
        if roll > 0.9:
            return "ANY", self._by_value(value, partition, scope)
        name = self.choose.choice(["sum", "min", "max", "count", "avg"])
        frame = self.choose.choice(
            [
                "",
                " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                " GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            ]
        )
        return "ANY", f"{name}({value}) OVER ({partition}{order if roll < 0.8 else ''}{frame if roll < 0.8 else ''})"

    def _by_value(self, value: str, partition: str, scope: list[Column]) -> str:
        """Functions of rows in the order of all columns, so that only equal rows tie."""
        down = self.choose.choice(["", " DESC", " NULLS FIRST"])
        order = f"{partition}ORDER BY {', '.join([f'{value}{down}', *(each.name for each in scope)])}"
        low, high = self.choose.randint(0, 2), self.choose.randint(0, 2)
        return self.choose.choice(
            [
                f"lag({value}) OVER ({order})",
                f"lead({value}, 2, 0) OVER ({order})",
                f"first_value({value}) OVER ({order})",
                f"nth_value({value}, 2) OVER ({order} ROWS BETWEEN {low} PRECEDING AND UNBOUNDED FOLLOWING)",
                f"sum({value}) OVER ({order} ROWS BETWEEN {low} PRECEDING AND {high} FOLLOWING)",
                f"max({value}) OVER ({order} ROWS BETWEEN {low + 1} PRECEDING AND 1 PRECEDING)",
                f"count({value}) OVER ({order} ROWS BETWEEN {low} FOLLOWING AND {low + high} FOLLOWING)",
                f"ntile(3) OVER ({order})",
                f"sum({value}) FILTER (WHERE {value} > 0) OVER ({order})",
            ]
        )

    # FROM.

    def _table(self, depth: int) -> tuple[str, list[Column]]:
        alias = self._alias()
        if depth > 0 and self.choose.random() < 0.15:
            text, columns = self._select(depth - 1)
            return f"({text}) {alias}", [Column(f"{alias}.{each.name}", each.type) for each in columns]
        name = self.choose.choice(list(self.database.schema))
        columns = [Column(f"{alias}.{column}", kind) for column, kind in self.database.schema[name].items()]
        return f"{name} {alias}", columns

    def _source(self, depth: int) -> tuple[str, list[Column]]:
        text, scope = self._table(depth)
        while self.choose.random() < 0.35:
            other, added = self._table(depth)
            text, scope = self._joined(text, scope, other, added)
        return text, scope

    def _joined(self, left: str, scope: list[Column], right: str, added: list[Column]) -> tuple[str, list[Column]]:
        pairs = [(a, b) for a in scope for b in added if a.type == b.type and a.type != "DOUBLE"]
        roll = self.choose.random()
        if not pairs or roll < 0.07:
            return f"{left} CROSS JOIN {right}", scope + added
        one, other = self.choose.choice(pairs)
        if one.name.split(".")[1] == other.name.split(".")[1] == "k" and "JOIN" not in left and roll < 0.3:
            word = self.choose.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            return f"{left} {word} {right} USING (k)", [e for e in scope + added if not e.name.endswith(".k")]
        condition = f"{one.name} = {other.name}"
        if self.choose.random() < 0.25:
            condition += f" AND {self._condition(scope + added, 0)}"
        if roll < 0.12:
            condition = self._condition(scope + added, 0)
        kind = self.choose.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
        if kind == "FULL JOIN" and roll < 0.12:
            kind = "JOIN"
        kept = scope if kind in ("SEMI JOIN", "ANTI JOIN") else scope + added
        return f"{left} {kind} {right} ON {condition}", kept

    # Expressions.

    def _condition(self, scope: list[Column], depth: int) -> str:
        roll = self.choose.random()
        if depth > 0 and roll < 0.15:
            return self._subquery_condition(scope, depth)
        if depth > 0 and roll < 0.35:
            word = self.choose.choice(["AND", "OR"])
            return f"({self._condition(scope, depth - 1)} {word} {self._condition(scope, depth - 1)})"
        if roll < 0.42:
            return f"NOT ({self._condition(scope, 0)})"
        kind = self.choose.choice(TYPES)
        value = self._expr(kind, scope, 0)
        if roll < 0.5:
            return f"{value} IS {self.choose.choice(['', 'NOT '])}NULL"
        if roll < 0.6 and kind != "DOUBLE":
            options = ", ".join(literal(_value(self.choose, kind)) for _ in range(self.choose.randint(1, 3)))
            return f"{value} {self.choose.choice(['', 'NOT '])}IN ({options})"
        if roll < 0.66 and kind == "VARCHAR":
            pattern = self.choose.choice(["a%", "%b%", "_b", "%"])
            return f"{value} LIKE '{pattern}'"
        if roll < 0.72 and kind != "BOOLEAN":
            return f"{value} BETWEEN {self._expr(kind, scope, 0)} AND {self._expr(kind, scope, 0)}"
        sign = self.choose.choice(["=", "<>", "<", "<=", ">", ">="])
        return f"{value} {sign} {self._expr(kind, scope, 0)}"

    def _subquery_condition(self, scope: list[Column], depth: int) -> str:
        source, inner = self._table(0)
        outer = self.choose.choice(scope)
        same = [each for each in inner if each.type == outer.type]
        negated = self.choose.choice(["", "NOT "])
        extra = f" AND {self._condition(inner, 0)}" if self.choose.random() < 0.4 else ""
        if not same:
            return f"{negated}EXISTS (SELECT 1 FROM {source} WHERE {self._condition(inner, 0)})"
        column = self.choose.choice(same)
        roll = self.choose.random()
        if roll < 0.4:
            where = f" WHERE {self._condition(inner, 0)}" if self.choose.random() < 0.5 else ""
            return f"{outer.name} {negated}IN (SELECT {column.name} FROM {source}{where})"
        sign = "=" if outer.type == "DOUBLE" or self.choose.random() < 0.8 else self.choose.choice(["<", ">"])
        if roll < 0.75:
            return f"{negated}EXISTS (SELECT 1 FROM {source} WHERE {column.name} {sign} {outer.name}{extra})"
        where = f"{column.name} {sign} {outer.name}{extra}"
        return f"(SELECT count(*) FROM {source} WHERE {where}) {self.choose.choice(['=', '>'])} 1"

    def _expr(self, kind: str, scope: list[Column], depth: int) -> str:
        columns = [each.name for each in scope if each.type == kind]
        if kind not in TYPES:
            return self.choose.choice(columns) if columns else "1"
        if columns and (depth <= 0 or self.choose.random() < 0.5):
            return self.choose.choice(columns)
        if depth > 0 and self.choose.random() < 0.7:
            return self._operation(kind, scope, depth - 1)
        value = self.choose.choice(VALUES[kind])
        return literal(value)

    def _operation(self, kind: str, scope: list[Column], depth: int) -> str:
        def inner(wanted: str) -> str:
            return self._expr(wanted, scope, depth)

        roll = self.choose.random()
        if roll < 0.06 and self._subqueries_allowed and scope:
            return self._scalar(kind, scope)
        if roll < 0.15:
            return f"CASE WHEN {self._condition(scope, 0)} THEN {inner(kind)} ELSE {inner(kind)} END"
        if roll < 0.22:
            return f"coalesce({inner(kind)}, {inner(kind)})"
        if roll < 0.27:
            return f"nullif({inner(kind)}, {inner(kind)})"
        if roll < 0.32 and kind in ("BIGINT", "DECIMAL(18,2)", "VARCHAR", "DATE"):
            return f"{self.choose.choice(['greatest', 'least'])}({inner(kind)}, {inner(kind)})"
        template = self.choose.choice(PLAIN[kind])
        return re.sub(r"\{(\w+)\}", lambda found: self._operand(found[1], inner), template)

    def _operand(self, letter: str, inner: Callable[[str], str]) -> str:
        return str(self.choose.randint(1, 14)) if letter == "small" else inner(OPERANDS[letter])
