"""Random relations, each with its expected frame, computed by Polars alone in one piece.

Relations are drawn from a pool that grows, so that queries share parts, join what they come from, and feed on one
another's outcomes. Columns that start with `t` hold text, all others whole numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import polars as pl

from cauce.plan import (
    INTEGER,
    TEXT,
    Integer,
    Relation,
    Table,
    Text,
    agg,
    desc,
    window,
)
from cauce.plan.outputs import Output

KEYS = ["a", "b", "c", "d", None]


@dataclass(frozen=True)
class Pair:
    """A relation and the rows it should have, in any order."""

    relation: Relation
    frame: pl.DataFrame

    @property
    def texts(self) -> list[str]:
        return [name for name in self.frame.columns if name.startswith("t")]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.frame.columns if not name.startswith("t")]


def outputs(pair: Pair) -> dict[str, Output]:
    return {name: TEXT if name.startswith("t") else INTEGER for name in pair.frame.columns}


class Drawing:
    """Draws pairs with one source of randomness; new columns get new names."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tables: list[Table] = []
        self.files: dict[str, str] = {}
        self.pool: list[Pair] = []
        self._names = 0
        for name in ("one", "two"):
            self._add_table(name)

    def _add_table(self, name: str) -> None:
        rows = [
            (self.rng.choice(KEYS), self.rng.choice([*range(6), None]), self.rng.choice([0, 1]))
            for _ in range(self.rng.choice([0, 1, 9, 25]))
        ]
        names = [f"t_{name}", f"x_{name}", f"y_{name}"]
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        self.files[name] = "\n".join([",".join(names), *lines]) + "\n"
        kinds = {names[0]: Text(), names[1]: Integer(), names[2]: Integer()}
        table = Table(name, f"{name}.csv", kinds, small=self.rng.random() < 0.3)
        schema = {names[0]: pl.String, names[1]: pl.Int64, names[2]: pl.Int64}
        self.tables.append(table)
        self.pool.append(Pair(table, pl.DataFrame(rows, schema=schema, orient="row")))

    def name(self, kind: str = "n") -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def pick(self) -> Pair:
        return self.rng.choice(self.pool)

    def grow(self) -> None:
        narrow = (self.filter, self.add, self.select)
        wide = (self.group, self.by_value, self.all_rows, self.top, self.distinct, self.limit, self.window)
        of_two = (self.join, self.join, self.conditional_join, self.concat, self.combine, self.scalars)
        step = self.rng.choice((*narrow, *wide, *of_two))
        made = step(self.pick())
        if made is not None and made.numbers and made.frame.height < 500:
            self.pool.append(made)

    def filter(self, pair: Pair) -> Pair:
        limit = pl.col(self.rng.choice(pair.numbers)) > self.rng.randint(0, 3)
        return Pair(pair.relation.filter(limit), pair.frame.filter(limit))

    def add(self, pair: Pair) -> Pair:
        name = self.rng.choice([self.name(), self.rng.choice(pair.numbers)])
        made = pl.col(self.rng.choice(pair.numbers)) % 3 + 1
        return Pair(pair.relation.with_columns(**{name: made}), pair.frame.with_columns(made.alias(name)))

    def select(self, pair: Pair) -> Pair:
        renamed = {self.name(): name for name in self.some(pair.numbers)}
        renamed |= {self.name("t"): name for name in self.some(pair.texts, at_least=0)}
        expressions = [pl.col(old).alias(new) for new, old in renamed.items()]
        return Pair(pair.relation.select(**renamed), pair.frame.select(expressions))

    def some(self, names: list[str], at_least: int = 1) -> list[str]:
        most = max(at_least, min(len(names), 3))
        return self.rng.sample(names, min(len(names), self.rng.randint(at_least, most)))

    def keys(self, pair: Pair) -> list[str]:
        return self.some([*pair.texts, *pair.numbers])[:2]

    def group(self, pair: Pair) -> Pair:
        keys, value = self.keys(pair), self.rng.choice(pair.numbers)
        n, s, low, high = (self.name() for _ in range(4))
        nulls = self.rng.random() < 0.5
        relation = pair.relation.group_by(*keys, nulls=nulls).agg(
            **{n: agg.count(), s: agg.sum(value), low: agg.min(value), high: agg.max(value)}
        )
        frame = (
            (pair.frame if nulls else pair.frame.drop_nulls(keys))
            .group_by(keys)
            .agg(
                pl.len().cast(pl.Int64).alias(n),
                pl.col(value).sum().alias(s),
                pl.col(value).min().alias(low),
                pl.col(value).max().alias(high),
            )
        )
        return Pair(relation, frame)

    def by_value(self, pair: Pair) -> Pair:
        keys, value = self.keys(pair), self.rng.choice([*pair.numbers, *pair.texts])
        n, most = self.name(), self.name()
        nulls = self.rng.random() < 0.5
        relation = pair.relation.group_by(*keys, nulls=nulls).agg(
            **{n: agg.n_unique(value), most: agg.mode_count(value)}
        )
        present = pl.col(value).drop_nulls()
        times = present.unique_counts().max().fill_null(0).cast(pl.Int64)
        frame = (
            (pair.frame if nulls else pair.frame.drop_nulls(keys))
            .with_columns(pl.col(value).alias("#v"))
            .group_by(keys)
            .agg(present.n_unique().cast(pl.Int64).alias(n), times.alias(most))
        )
        return Pair(relation, frame)

    def all_rows(self, pair: Pair) -> Pair:
        value, n, s = self.rng.choice(pair.numbers), self.name(), self.name()
        relation = pair.relation.agg(**{n: agg.count(), s: agg.sum(value)})
        return Pair(relation, pair.frame.select(pl.len().cast(pl.Int64).alias(n), pl.col(value).sum().alias(s)))

    def top(self, pair: Pair) -> Pair:
        per = self.rng.choice([[], self.keys(pair)])
        by = self.rng.sample(pair.frame.columns, len(pair.frame.columns))
        k = self.rng.randint(1, 3)
        relation = pair.relation.top_k(k, by=[desc(by[0]), *by[1:]], per=per)
        frame = pair.frame.drop_nulls(per) if per else pair.frame
        frame = frame.sort(by, descending=[True] + [False] * (len(by) - 1), nulls_last=True)
        frame = frame.group_by(per, maintain_order=True).head(k) if per else frame.head(k)
        return Pair(relation, frame.select(pair.frame.columns))

    def distinct(self, pair: Pair) -> Pair:
        keys, nulls = self.keys(pair), self.rng.random() < 0.5
        rows = pair.frame.select(keys)
        return Pair(pair.relation.distinct(*keys, nulls=nulls), (rows if nulls else rows.drop_nulls()).unique())

    def limit(self, pair: Pair) -> Pair:
        by = self.rng.sample(pair.frame.columns, len(pair.frame.columns))
        n, offset = self.rng.choice([1, 3, None]), self.rng.randint(0, 2)
        frame = pair.frame.sort(by, nulls_last=True).slice(offset, n)
        return Pair(pair.relation.limit(n, by=by, offset=offset), frame)

    def window(self, pair: Pair) -> Pair:
        """Numbers rows, and sums the row and the one before, in the order of all columns."""
        keys, value, number, total = self.keys(pair), self.rng.choice(pair.numbers), self.name(), self.name()
        by = self.rng.sample(pair.frame.columns, len(pair.frame.columns))
        relation = pair.relation.window(
            partition_by=keys,
            order_by=by,
            frame=window.rows(-1, 0),
            **{number: window.row_number(), total: window.sum(value)},
        )
        seen: dict[tuple[object, ...], list[int | None]] = {}
        rows = []
        for row in pair.frame.sort(by, nulls_last=True).rows(named=True):
            values = seen.setdefault(tuple(row[key] for key in keys), [])
            values.append(row[value])
            present = [each for each in values[-2:] if each is not None]
            rows.append((*row.values(), len(values), sum(present) if present else None))
        schema = {**pair.frame.schema, number: pl.Int64(), total: pl.Int64()}
        return Pair(relation, pl.DataFrame(rows, schema=schema, orient="row"))

    def join(self, pair: Pair) -> Pair | None:
        other = self.pick()
        kind = self.rng.choice(["texts", "numbers"])
        left, right = getattr(pair, kind), getattr(other, kind)
        if not left or not right:
            return None
        key = self.name("t" if kind == "texts" else "n")
        mine = {key: self.rng.choice(left), **{self.name(n[0]): n for n in pair.frame.columns}}
        theirs = {key: self.rng.choice(right), **{self.name(n[0]): n for n in other.frame.columns}}
        how = self.rng.choice(["inner", "left", "right", "full", "semi", "anti"])
        strategy, nulls_equal = self.rng.choice(["broadcast", "partition", None]), self.rng.random() < 0.3
        relation = pair.relation.select(**mine).join(
            other.relation.select(**theirs), on=key, how=how, strategy=strategy, nulls_equal=nulls_equal
        )
        frames = [
            each.frame.select(pl.col(old).alias(new) for new, old in renamed.items())
            for each, renamed in ((pair, mine), (other, theirs))
        ]
        joined = frames[0].join(frames[1], on=key, how=how, coalesce=True, nulls_equal=nulls_equal)
        return Pair(relation, joined.select(relation.columns))

    def conditional_join(self, pair: Pair) -> Pair:
        """A join without keys, on a condition."""
        other = self.pick()
        mine = {self.name(name[0]): name for name in pair.frame.columns}
        theirs = {self.name(name[0]): name for name in other.frame.columns}
        left, right = (
            each.frame.select(pl.col(old).alias(new) for new, old in renamed.items())
            for each, renamed in ((pair, mine), (other, theirs))
        )
        numbers = [[name for name in names if not name.startswith("t")] for names in (mine, theirs)]
        less = pl.col(self.rng.choice(numbers[0])) < pl.col(self.rng.choice(numbers[1]))
        how = self.rng.choice(["inner", "left", "semi", "anti", "cross"])
        where = () if how == "cross" else less
        relation = pair.relation.select(**mine).join(other.relation.select(**theirs), how=how, where=where)
        return Pair(relation, _joined(left, right, how, less))

    def combine(self, pair: Pair) -> Pair:
        """A set operation; expected counts of rows are computed with counters of Python."""
        other = self.pick()
        name, mine, theirs = self.name(), self.rng.choice(pair.numbers), self.rng.choice(other.numbers)
        sides = [Counter(each[column]) for each, column in ((pair.frame, mine), (other.frame, theirs))]
        operation, distinct = self.rng.choice(["union", "intersect", "difference"]), self.rng.random() < 0.5
        if distinct:
            sides = [Counter(set(side)) for side in sides]
        found = {"union": sides[0] | sides[1], "intersect": sides[0] & sides[1], "difference": sides[0] - sides[1]}
        rows = found[operation] if distinct or operation != "union" else sides[0] + sides[1]
        first, second = pair.relation.select(**{name: mine}), other.relation.select(**{name: theirs})
        relation = getattr(first, operation)(second, distinct=distinct)
        return Pair(relation, pl.DataFrame({name: list(rows.elements())}, schema={name: pl.Int64}))

    def concat(self, pair: Pair) -> Pair:
        other = self.pick()
        names = {self.name(): (self.rng.choice(pair.numbers), self.rng.choice(other.numbers)) for _ in range(2)}
        first = {new: old for new, (old, _) in names.items()}
        second = {new: old for new, (_, old) in names.items()}
        relation = pair.relation.select(**first).concat(other.relation.select(**second))
        sides = [
            each.frame.select(pl.col(old).alias(new) for new, old in renamed.items())
            for each, renamed in ((pair, first), (other, second))
        ]
        return Pair(relation, pl.concat(sides))

    def scalars(self, pair: Pair) -> Pair:
        scalars = self.all_rows(self.pick())
        return Pair(pair.relation.with_scalars(scalars.relation), pair.frame.join(scalars.frame, how="cross"))


def _joined(left: pl.DataFrame, right: pl.DataFrame, how: str, less: pl.Expr) -> pl.DataFrame:
    """A join on a condition, from all pairs of rows."""
    pairs = left.with_row_index("#row").join(right, how="cross")
    if how == "cross":
        return pairs.drop("#row")
    matches = pairs.filter(less)
    found = left.with_row_index("#row")["#row"].is_in(matches["#row"].implode())
    if how in ("semi", "anti"):
        return left.filter(found if how == "semi" else ~found)
    unmatched = left.filter(~found) if how == "left" else left.clear()
    return pl.concat([matches.drop("#row"), unmatched], how="diagonal")
