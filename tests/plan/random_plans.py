"""Random relations, each beside the frame that it should give, computed by Polars alone in one piece.

Relations are drawn from a pool that grows, so that queries share parts, join what they come from, and feed on one
another's outcomes. Columns that start with `t` hold text, all others whole numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import polars as pl

from cauce.plan import (
    INTEGER,
    TEXT,
    Integer,
    Relation,
    Table,
    Text,
    count,
    count_distinct,
    desc,
    greatest,
    least,
    mode_count,
    total,
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
        wide = (self.group, self.by_value, self.all_rows, self.top, self.distinct)
        of_two = (self.join, self.join, self.concat, self.scalars)
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
        relation = pair.relation.group_by(*keys).agg(
            **{n: count(), s: total(value), low: least(value), high: greatest(value)}
        )
        frame = (
            pair.frame.drop_nulls(keys)
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
        relation = pair.relation.group_by(*keys).agg(**{n: count_distinct(value), most: mode_count(value)})
        present = pl.col(value).drop_nulls()
        times = present.unique_counts().max().fill_null(0).cast(pl.Int64)
        frame = (
            pair.frame.drop_nulls(keys)
            .with_columns(pl.col(value).alias("#v"))
            .group_by(keys)
            .agg(present.n_unique().cast(pl.Int64).alias(n), times.alias(most))
        )
        return Pair(relation, frame)

    def all_rows(self, pair: Pair) -> Pair:
        value, n, s = self.rng.choice(pair.numbers), self.name(), self.name()
        relation = pair.relation.agg(**{n: count(), s: total(value)})
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
        keys = self.keys(pair)
        return Pair(pair.relation.distinct(*keys), pair.frame.select(keys).drop_nulls().unique())

    def join(self, pair: Pair) -> Pair | None:
        other = self.pick()
        kind = self.rng.choice(["texts", "numbers"])
        left, right = getattr(pair, kind), getattr(other, kind)
        if not left or not right:
            return None
        key = self.name("t" if kind == "texts" else "n")
        mine = {key: self.rng.choice(left), **{self.name(n[0]): n for n in pair.frame.columns}}
        theirs = {key: self.rng.choice(right), **{self.name(n[0]): n for n in other.frame.columns}}
        how = self.rng.choice(["inner", "left", "semi", "anti"])
        strategy = self.rng.choice(["broadcast", "partition", None])
        relation = pair.relation.select(**mine).join(
            other.relation.select(**theirs), on=key, how=how, strategy=strategy
        )
        frames = [
            each.frame.select(pl.col(old).alias(new) for new, old in renamed.items())
            for each, renamed in ((pair, mine), (other, theirs))
        ]
        return Pair(relation, frames[0].join(frames[1], on=key, how=how, coalesce=True))

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
