"""Fast paths for many rows return the same result as the general path."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.operators import order, top_k
from cauce.operators.aggregates import Aggregate, Count, First, Max, Mean, Min, Sum, group_by
from cauce.operators.order import POSITION, SortKey, desc, sort_keys

SEEDS = range(20)


def rows(seed: int, height: int = 400) -> pl.DataFrame:
    chance = random.Random(seed)

    def few(*values: object) -> list[object]:
        return [chance.choice(values) for _ in range(height)]

    return pl.DataFrame(
        {
            "k": few("a", "b", "c", None),
            "m": few(*range(chance.choice([2, 40]))),
            "n": few(None, *range(-3, 3)),
            "x": few(0.5, -1.0, 2.25, None),
            "d": pl.Series(few("0.1", "2.5", "-3", None)).cast(pl.Decimal(38, 18)),
            POSITION: list(range(height)),
        }
    )


def both(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, compute: Callable[[], pl.DataFrame]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    monkeypatch.setattr(module, "_MANY_ROWS", 10**9)
    plain = compute()
    monkeypatch.setattr(module, "_MANY_ROWS", 0)
    return plain, compute()


@pytest.mark.parametrize("seed", SEEDS)
def test_sorting_by_several_keys(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    by = sort_keys(random.Random(seed).sample(["k", desc("n"), "m", desc("x"), "d"], 3))
    plain, short = both(monkeypatch, order, lambda: order.sort_rows(rows(seed), by))
    assert_frame_equal(plain, short)


@pytest.mark.parametrize("ties", ["cut", "all"])
@pytest.mark.parametrize("per", [(), ("k",), ("k", "m")])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_of_each_key(
    monkeypatch: pytest.MonkeyPatch, seed: int, per: tuple[str, ...], ties: top_k.Ties
) -> None:
    chance = random.Random(seed)
    first: SortKey = chance.choice([desc("n"), SortKey("n"), desc("m"), SortKey("x")])
    k = chance.choice([1, 2, 5, 50, 500])
    plain, short = both(monkeypatch, top_k, lambda: top_k.top_k(rows(seed), k, [first, SortKey("d")], per, ties))
    assert_frame_equal(plain, short)


@pytest.mark.parametrize("keys", [("k",), ("k", "m"), ("m", "k", "n")])
@pytest.mark.parametrize("seed", SEEDS)
def test_merging_groups(monkeypatch: pytest.MonkeyPatch, seed: int, keys: tuple[str, ...]) -> None:
    aggregates: dict[str, Aggregate] = {
        "rows": Count(),
        "sum": Sum("n"),
        "exact": Sum("d"),
        "floats": Sum("x"),
        "mean": Mean("x"),
        "least": Min("n"),
        "most": Max("d"),
        "first": First("x"),
    }
    parts = [group_by.partial(rows(seed * 10 + i), keys, aggregates) for i in range(3)]
    plain, short = both(
        monkeypatch,
        group_by,
        lambda: group_by.final(group_by.merge(pl.concat(parts), keys, aggregates), keys, aggregates),
    )
    assert_frame_equal(plain, short)
